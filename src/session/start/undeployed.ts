import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import { DevloopError } from '../../errors.ts';
import type { CheckoutFacts } from '../../operator/sources.ts';
import { definitionNames } from '../../operator/webhooks.ts';
import type { CommandContext } from '../context/context.ts';
import type { UpOptions } from '../context/options.ts';

/** Printed for an operator that is not deployed. */
export const RUNS_HERE =
  'No operator in the cluster matches this checkout, so no webhook is redirected and nothing is paused: the controller just runs here, as `make run` would run it. If it is deployed, name it with --deployment.';

/**
 * The controller of an operator that is not deployed can run here if the cluster has its CRDs. Throws 'target.not-found' if it has none of
 * them, unless the user named what to run.
 */
export async function requireDefinitions(
  { api, config }: Pick<CommandContext, 'api' | 'config'>,
  { groups }: Pick<CheckoutFacts, 'groups'>,
  { command, package: main }: Pick<UpOptions, 'command' | 'package'>,
): Promise<void> {
  const { run, package: configured } = config.controller ?? {};
  if (groups.size === 0 || (command ?? main ?? run ?? configured) !== undefined) return;
  // If the account is not allowed to list CRDs, the start of the controller shows whether they exist.
  const installed = await definitionNames(api).catch(undefinedIfForbidden);
  if (installed === undefined || installed.some((name) => groups.has(name.slice(name.indexOf('.') + 1))))
    return;
  const list = [...groups].slice(0, SHOWN).join(', ');
  throw new DevloopError(
    'target.not-found',
    `No operator in the cluster matches this checkout, and the cluster has no CRD of its API groups (${list}).`,
    { hint: 'make install' },
  );
}

const SHOWN = 5;
