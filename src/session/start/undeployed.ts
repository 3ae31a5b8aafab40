import { crdCommand } from '../../checkout/crd-command.ts';
import type { CheckoutFacts } from '../../checkout/facts.ts';
import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { WITHOUT_CLUSTER } from '../../operator/services.ts';
import type { Target } from '../../operator/target.ts';
import { definitionNames } from '../../operator/webhooks.ts';
import type { CommandContext } from '../context/context.ts';
import type { UpOptions } from '../context/options.ts';

/** Printed for an operator that is not deployed. */
/**
 * The controller of an operator that is not deployed can run here if the cluster has its CRDs. Throws 'target.not-found' if it has none of
 * them, unless the user named what to run. Also throws it if the user starts the program, or names its command, and devloop cannot read
 * whether the program has webhooks: these would then not be redirected.
 */
export async function requireRunnable(
  { api, settings, root, cwd }: Pick<CommandContext, 'api' | 'settings' | 'root' | 'cwd'>,
  { groups, hasSources }: Pick<CheckoutFacts, 'groups' | 'hasSources'>,
  { controller = true, webhooks = true }: Wanted,
): Promise<void> {
  const { value: run } = settings['controller.run'];
  const { value: main } = settings['controller.package'];
  if (!controller || (webhooks && !hasSources && run !== undefined)) throw nothingMatches(controller);
  if (groups.size === 0 || (main ?? run) !== undefined) return;
  // If the account is not allowed to list CRDs, the start of the controller shows whether they exist.
  const installed = await definitionNames(api).catch(undefinedIfForbidden);
  if (installed === undefined || installed.some((name) => groups.has(name.slice(name.indexOf('.') + 1))))
    return;
  const list = [...groups].slice(0, SHOWN).join(', ');
  throw new DevloopError(
    'target.not-found',
    `No operator in the cluster matches this checkout, and the cluster has no CRD of its API groups (${list}).`,
    { hint: `${await crdCommand({ root, cwd })}\n${WITHOUT_CLUSTER}` },
  );
}

type Wanted = Partial<Pick<UpOptions, 'controller' | 'webhooks'>>;

function nothingMatches(controller: boolean): DevloopError {
  const none = `If the program has no webhooks: ${AGAIN} --no-webhooks`;
  return new DevloopError(
    'target.not-found',
    'No operator in the cluster matches this checkout, so nothing would be redirected or paused.',
    { hint: `${NAME_IT}${controller ? `\n${none}` : ''}` },
  );
}

const NAME_IT = `Name the webhook Service or the Deployment: ${AGAIN} --service NAMESPACE/NAME, or ${AGAIN} --deployment NAMESPACE/NAME`;

/** What the sources say about webhooks, unless the user says that the program has none. */
export async function withoutWebhooks(
  facts: CheckoutFacts | Promise<CheckoutFacts>,
  { webhooks }: Pick<UpOptions, 'webhooks'>,
): Promise<CheckoutFacts> {
  return webhooks ? await facts : { ...(await facts), declaresWebhooks: false };
}

/** `--no-webhooks` must not leave webhooks without a server. */
export function assertNoWebhooks(
  { services }: Pick<Target, 'services'>,
  { webhooks }: Pick<UpOptions, 'webhooks'>,
): void {
  const [found] = services;
  if (webhooks || found === undefined) return;
  const { namespace, name } = found.service.metadata;
  throw new DevloopError(
    'usage.invalid',
    `Service ${namespace}/${name} matches this checkout, and its webhooks would have no server.`,
    { hint: 'Leave out --no-webhooks.' },
  );
}

const SHOWN = 5;
