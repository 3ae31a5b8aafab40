import { DevloopError } from '../errors.ts';
import { whyNotIsolated } from '../machine/network-namespace.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { PlannedWrite } from '../report/planned-write.ts';
import { openContext } from './context/context.ts';
import { inEmbedded } from './context/embedded-here.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { thisMachine } from './context/local-machine.ts';
import { localSessions } from './context/local-sessions.ts';
import { BY_ITSELF, type CommonOptions, type Io, type UpOptions } from './context/options.ts';
import { isProxied } from './context/proxied.ts';
import { endOrphans } from './context/session-directories.ts';
import { planRevision } from './planning/against.ts';
import { type Compared, compare } from './planning/compare.ts';
import { findRevision, type Revision } from './planning/revision.ts';
import { type DryRunResult, inDirectory, planOf, type RunLimits } from './planning/run-dry.ts';
import { prepareProgram } from './start/controller.ts';
import type { UpCommand } from './start/session.ts';
import { discoverOnly } from './start/target.ts';

export interface PlanOptions extends CommonOptions, RunLimits {
  /** The revision whose plan is compared with that of the checkout. */
  against?: string | undefined;
}

/** Runs the checkout's controller against the cluster without a change there, and prints what it would write. Throws 'plan.changes'. */
export async function plan(options: PlanOptions, io: Io): Promise<void> {
  const asked = await inEmbedded(options, io);
  await using context = await openContext(asked, io);
  if (!isProxied(context)) throw new DevloopError('usage.invalid', DIRECT);
  const { against, network } = options;
  const revision = against === undefined ? undefined : await findRevision(against, context.root, io.signal);
  if (!network) await requireIsolation();
  const machine = await thisMachine(io.env);
  await endOrphans(machine, io.emit, 'verify');
  const up: UpOptions = { ...asked, ...BY_ITSELF, yes: false };
  const beside = (await localSessions(machine)).find(({ checkout }) => checkout === context.root);
  if (beside) io.emit(notice('plan.session-runs', { session: beside.id }));
  const prepared = await prepareProgram({ context, options: up }, io);
  const command: UpCommand = { startedAt: performance.now(), context, options: up, io, machine, prepared };
  const found = await unlessInterrupted(discoverOnly(command), io.signal);
  const fromMs = Date.now();
  const here = await inDirectory(command, (directory) => planOf(directory, command, found, options));
  if (revision === undefined || here.failure) return conclude(here, io.emit);
  const there = await planRevision(revision, { command, found, limits: options });
  const span = { fromMs: fromMs - CLOCKS_MS, toMs: Date.now() + CLOCKS_MS };
  concludeBoth(compare(here.writes, there.writes, span), revision, { failure: there.failure, emit: io.emit });
}

const DIRECT = 'A plan needs the API proxy, which `api: direct` leaves out.';
/** Times are written in whole seconds, by clocks that are not quite the same. */
const CLOCKS_MS = 2_000;

/** Throws 'plan.network'. */
async function requireIsolation(): Promise<void> {
  const why = await whyNotIsolated();
  if (why === undefined) return;
  const message = `devloop cannot keep the controller from the network of this machine (${why}). ${REACHES}`;
  throw new DevloopError('plan.network', message, { hint: 'If that is harmless: devloop plan --network' });
}

const REACHES =
  'What it does elsewhere than at the API server of its kubeconfig would happen: in clouds, databases, other clusters, and programs of this machine.';

function conclude({ writes: planned, failed, failure }: DryRunResult, emit: Emit): void {
  const writes = planned.map(({ write }) => write);
  for (const write of writes) emit({ type: 'plan.write', write });
  const count = (action: PlannedWrite['action']): number =>
    writes.filter((one) => one.action === action).length;
  const counts = { create: count('create'), change: count('change'), delete: count('delete') };
  const rest = { refused: count('refused'), notSent: count('not-sent') };
  if ((failure === undefined && failed.length === 0) || writes.length > 0)
    emit({ type: 'plan.done', ...counts, ...rest });
  if (failure) throw incomplete(failure);
  if (writes.length > 0) throw new DevloopError('plan.changes', CHANGES, { isSummary: true });
  if (failed.length > 0) throw new DevloopError('plan.incomplete', NOTHING, { isSummary: true });
}

const NOTHING = 'The controller would change nothing, but it fails to reconcile.';
const CHANGES = 'The controller would change the cluster.';

function concludeBoth(
  { differences, same }: Compared,
  { shown }: Revision,
  { failure, emit }: { failure: DevloopError | undefined; emit: Emit },
): void {
  for (const difference of differences) emit({ type: 'plan.difference', revision: shown, difference });
  const count = (by: string): number => differences.filter((one) => one.by === by).length;
  const counts = { checkout: count('checkout'), revision: count('revision'), both: count('both'), same };
  emit({ type: 'plan.compared', against: shown, ...counts });
  if (failure) throw incomplete(failure);
  const message = `The checkout would change the cluster differently than ${shown}.`;
  if (differences.length > 0) throw new DevloopError('plan.changes', message, { isSummary: true });
}

/** A controller that exits when it cannot write, or when it finds nothing of what it has written, would be started again in the cluster. */
function incomplete({ code, message, hint }: DevloopError): DevloopError {
  const more = `The plan has only what it asked until then. If it exits because nothing that it writes is stored, nothing else can be planned.`;
  return new DevloopError(code, message, { hint: [hint, more].filter(Boolean).join('\n') });
}
