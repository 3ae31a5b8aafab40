import { Checkout } from '../../checkout/files.ts';
import type { PauseStep } from '../../cluster/takeover/pause/pause.ts';
import type { DevloopError } from '../../errors.ts';
import { discover } from '../../operator/discover.ts';
import type { Target } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { type CommandContext, checkoutFactsOf } from '../context/context.ts';
import { sessionsInTheWay, withoutPausedReconcilers } from '../context/holders.ts';
import { inNamedNamespaces } from '../context/namespaces.ts';
import { alsoPause, pausedBy, planPause } from '../start/pause.ts';
import { reportServedApis } from '../start/served-apis.ts';
import {
  type DiscoveredOperator,
  type DoctorRun,
  NotChecked,
  neededOfCluster,
  neededOperator,
  type RefusedService,
} from './check.ts';
import { readSelf, readVersion } from './cluster.ts';
import { consentOf } from './consent.ts';
import { allowedTo } from './permissions.ts';
import { judgeToolchain, programOf } from './toolchain.ts';

/** `opened` is the context, or the reason why there is none. */
export function doctorRun(
  opened: CommandContext | DevloopError,
  { settings, io, machine, root }: Pick<DoctorRun, 'settings' | 'io' | 'machine' | 'root'>,
): DoctorRun {
  const hasCluster = !(opened instanceof Error);
  const checkout = hasCluster ? opened.checkout : new Checkout(root);
  const context = shared(hasCluster ? Promise.resolve(opened) : Promise.reject<CommandContext>(opened));
  const version = shared(context.then(({ api }) => readVersion(api)));
  const reached = shared(neededOfCluster(version));
  const base = { settings, io, machine, root, checkout, context, version };
  const operator = shared(
    reached.then(async () => await inNamedNamespaces(await context, discoverOperator(base))),
  );
  const hasOwnCommand = settings['controller.run'].value !== undefined;
  const toolchain = shared(judgeToolchain({ checkout, env: io.env, signal: io.signal, hasOwnCommand }));
  const pause = shared(operator.then(({ target }) => planOfPause(base, target)));
  return {
    ...base,
    self: shared(reached.then(async () => await readSelf((await context).api))),
    operator,
    pause,
    consent: shared(consentOf({ ...base, operator })),
    permissions: shared(reached.then(() => allowedTo({ ...base, operator, pause }))),
    deadSessions: shared(findDeadSessions({ ...base, operator })),
    toolchain,
    program: shared(programOf({ ...base, operator, toolchain })),
  };
}

/** Several checks await this, each at its own time; until then a failure must not count as unhandled. */
function shared<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

async function planOfPause(
  run: Pick<DoctorRun, 'context' | 'settings' | 'io'>,
  target: Target,
): Promise<PauseStep[]> {
  const { context, settings, io } = run;
  const opened = await context;
  // No events: the check that awaits this reports the wait.
  const observer = { api: opened.api, emit: () => {}, signal: io.signal };
  return await planPause(observer, target, settings.pause.value);
}

/** Discovers as `up` does, but continues if a Service has wrong ports, so that the rest can still be checked. */
async function discoverOperator({
  context: opening,
  settings,
}: Pick<DoctorRun, 'context' | 'settings'>): Promise<DiscoveredOperator> {
  const context = await opening;
  const events: DevloopEvent[] = [];
  const refusals: RefusedService[] = [];
  const facts = await checkoutFactsOf(context);
  const emit = (event: DevloopEvent): void => void events.push(event);
  const found = await discover({
    ...{ api: context.api, facts, emit },
    names: { ...context.wanted, alsoPause: alsoPause(context) },
    onUnusablePort: (error, service) => refusals.push({ error, service }),
  });
  const choice = settings.pause.value;
  const target = pausedBy(choice, found);
  reportServedApis(target, choice, emit);
  return { target, facts, events, refusals };
}

/** The dead sessions that left changes on the target. May watch a Lease for up to 15 s. */
async function findDeadSessions(
  run: Pick<DoctorRun, 'context' | 'operator' | 'machine' | 'io'>,
): Promise<string[]> {
  const { target } = await neededOperator(run.operator);
  const { api } = await run.context;
  // No events: the check that awaits this reports the wait.
  const observer = { api, emit: () => {}, signal: run.io.signal };
  const wanted = await withoutPausedReconcilers(observer, target, run.machine);
  return (await sessionsInTheWay(observer, wanted, run.machine, false)).sessions;
}

/** The target's webhook Services; throws NotChecked if there are none. */
export async function targetWithServices(run: Pick<DoctorRun, 'operator'>): Promise<DiscoveredOperator> {
  const operator = await neededOperator(run.operator);
  if (operator.target.services.length === 0) throw new NotChecked('the target has no webhook Service');
  return operator;
}
