import { ApiError } from '../../cluster/api/errors.ts';
import { assertTakeable } from '../../cluster/takeover/service.ts';
import type { RouteChoice } from '../../config/route-choice.ts';
import { discover } from '../../operator/discover.ts';
import type { Target } from '../../operator/target.ts';
import type { Emit } from '../../report/events.ts';
import { usableAddress } from '../../route/direct.ts';
import { type CommandContext, checkoutFactsOf } from '../context/context.ts';
import { namespacesOf, sessionsInTheWay } from '../context/holders.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import type { Io, UpOptions } from '../context/options.ts';
import { endLocal } from '../end/end-local.ts';
import { reportLeft, restore } from '../end/restore.ts';
import { routeSettings, type Way } from '../route/routing.ts';
import { askRights, permittedWays, rightsFor, untried } from '../route/ways.ts';

/** Discovers, checks all that can be checked without a write, and repairs what a dead session left. */
export async function findTarget(
  opened: CommandContext,
  options: UpOptions,
  io: Io,
  machine: LocalMachine,
): Promise<{ target: Target; ways: Way[]; sourcePaths: ReadonlySet<string> }> {
  const { api } = opened;
  const { choice, address: named } = routeSettings(options, opened);
  const address = choice === 'relay' ? undefined : named;
  const facts = checkoutFactsOf(opened);
  const look = (emit: Emit): Promise<Target> =>
    withPermissionList(opened, choice, () => discover({ api, names: opened.wanted, facts, emit }));
  const target = await look(io.emit);
  if (address !== undefined) usableAddress(address);
  for (const { service } of target.services) assertTakeable(service, address);
  if (target.services.length === 0 && target.deployment === undefined)
    io.emit({ type: 'note', message: NOTHING_THERE });
  const { paths: sourcePaths } = await facts;
  const rights = await rightsFor(api, target, choice);
  const ways = permittedWays(api, rights);
  for (const note of untried(rights)) io.emit({ type: 'note', message: note });
  const inTheWay = await sessionsInTheWay(
    { api, emit: io.emit, signal: io.signal },
    target,
    machine,
    options.takeOver,
  );
  if (inTheWay.sessions.length === 0 || options.dryRun) return { target, ways, sourcePaths };
  // One that runs here can put everything back by itself, and its controller holds the ports that ours needs.
  for (const one of inTheWay.living) if (one.local) await endLocal(one.sessionId, one, io);
  for (const session of inTheWay.sessions) await recover(opened, session, target, io);
  return { target: await look(() => {}), ways, sourcePaths };
}

const NOTHING_THERE =
  'No operator in the cluster matches this checkout, so no webhook is redirected and no Deployment is paused. If it is deployed, name it with --deployment.';

/** Nobody answers for a dead session, so there is nothing to wait for: its Services go back at once. */
async function recover({ api }: CommandContext, session: string, target: Target, io: Io): Promise<void> {
  const message = `Session ${session} is dead or taken over; what it changed is put back first.`;
  io.emit({ type: 'note', message });
  reportLeft(
    await restore({ api, sessionId: session, emit: io.emit, signal: io.signal }, namespacesOf(target), {
      readySeconds: 0,
    }),
    io.emit,
  );
}

/** A refusal during discovery is answered with the whole list of what is missing, not just with the first. */
async function withPermissionList(
  opened: CommandContext,
  choice: RouteChoice,
  look: () => Promise<Target>,
): Promise<Target> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ApiError && error.isForbidden)) throw error;
    const namespace = opened.wanted.namespace ?? opened.api.namespace;
    const parts = { webhooks: true, deployment: true };
    permittedWays(opened.api, await askRights(opened.api, [namespace], parts, choice));
    throw error;
  }
}
