import { allDone } from '../../async.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { PausingManager } from '../../cluster/takeover/pause/pause.ts';
import type { NotStarted } from '../../cluster/takeover/pause/why-not-started.ts';
import type { RestoreResult } from '../../cluster/takeover/restore-steps.ts';
import type { Work } from '../../cluster/work.ts';
import { NO_CONTROLLER, type Supervisor } from '../../controller/supervisor.ts';
import { messageOf } from '../../errors.ts';
import type { Target } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { namespacesOf, targetsOf } from '../context/holders.ts';
import type { Gateways } from '../route/gateways.ts';
import type { ChosenRoute } from '../route/open-route.ts';
import { restore } from './restore.ts';
import { MANAGER_READY_SECONDS } from './restore-pass.ts';
import { refuseUnfinished, reportKept } from './unfinished.ts';
import { waitUntilLetGo } from './wait-until-answering.ts';

/** An hour, so that the cluster is also restored after a long network failure if the terminal stays open. */
const AWAY_LIMIT_MS = 3_600_000;

/** What is running when `up` ends. */
export interface RunningParts {
  route?: ChosenRoute;
  supervisor?: Supervisor;
  /** Frees the Lease of the last controller. */
  election?: AsyncDisposable;
  /** `end` lets a controller that is stopped at a breakpoint continue. */
  debug?: (AsyncDisposable & { end(): Promise<void>; readonly stoppedAt: string | undefined }) | undefined;
  pausing?: PausingManager[];
  recorder?: AsyncDisposable;
  leases?: { end(): void };
  /** The objects that were not ready before the session. */
  unready?: ObjectRef[];
  /** Whether something may have been written to the cluster. */
  mayHaveChanged: boolean;
}

/** Why `up` ends. */
export interface SessionEnd {
  reason: string;
  /** Whether `up` failed before anybody pressed Ctrl-C. If nothing had been changed, only the error is then reported. */
  isFailure: boolean;
  /** When the end began, on the clock of performance.now(). */
  since: number;
}

/**
 * Restores the cluster while the local controller still answers, then closes the gateways, then stops the controller. While the API server
 * is unreachable, reviews are still answered here. The abort of `up` does not interrupt this. A second Ctrl-C ends the process, and
 * `devloop down` restores the rest.
 */
export async function endUp(
  work: Work,
  target: Target,
  standing: RunningParts,
  ending: SessionEnd,
): Promise<void> {
  // The event comes after the last output of the controller.
  const result = await restoreAndStop(work, target, standing, ending);
  if (result?.event) {
    const { ms } = result.event;
    work.emit({ ...result.event, endMs: performance.now() - ending.since - ms });
  }
  if (result) refuseUnfinished(result.left, result.notStarted);
}

interface Result {
  /** Reports the end; absent if nothing had been changed and only the error is reported. */
  event: Extract<DevloopEvent, { type: 'session.restored' }> | undefined;
  /** Objects that somebody else changed, too. */
  left: RestoreResult[];
  notStarted: NotStarted[];
}

async function restoreAndStop(
  work: Work,
  target: Target,
  standing: RunningParts,
  ending: SessionEnd,
): Promise<Result | undefined> {
  await using local = new AsyncDisposableStack();
  // The recorder ends last, so that it gets all reviews.
  if (standing.recorder) local.use(standing.recorder);
  if (standing.debug) local.use(standing.debug);
  if (standing.election) local.use(standing.election);
  if (standing.supervisor) local.use(standing.supervisor);
  // The route ends before the controller, so that a last review still reaches the controller.
  if (standing.route) local.use(standing.route);
  return standing.mayHaveChanged ? await restoreAll(work, target, standing, ending) : undefined;
}

async function restoreAll(
  { api, sessionId, emit }: Work,
  target: Target,
  { route, supervisor, debug, pausing = [], leases, unready }: RunningParts,
  ending: SessionEnd,
): Promise<Result> {
  const { reason, isFailure, since } = ending;
  const work: Work = { api, sessionId, emit, signal: new AbortController().signal };
  const isReported = (changes: number): boolean => changes > 0 || !isFailure;
  // A controller that is stopped at a breakpoint answers no reviews.
  await debug?.end();
  // After this call, the manager can be resumed even if the controller no longer answers.
  route?.gateways.answerConsequences();
  // Reviews that the user holds would only delay the manager's own Pods.
  route?.gateways.releaseForUser();
  if (route) refuseUnanswered(route.gateways, supervisor);
  // A review that arrives while an idle connection is being closed is lost, so each connection in use is closed together with an answer.
  route?.gateways.closeAfterNextAnswer();
  const afterServices =
    route &&
    (async () => {
      await waitUntilLetGo(work, target);
      // The route is still open here, so that the last answers arrive.
      await route.gateways.drain();
    });
  const onFound = (changes: number): void => {
    if (isReported(changes)) emit({ type: 'session.stopping', reason });
  };
  const onAway = (error: unknown): void => emit(away(error, ending));
  const waiting = { awayLimitMs: AWAY_LIMIT_MS, onAway };
  // Another devloop may have removed the mark. Even then, this machine answers until the manager is back.
  const paused = [target.manager, ...(target.reconcilers ?? [])];
  const taken = pausing.length > 0 ? paused.flatMap((one) => one?.ref ?? []) : [];
  const own = { targets: targetsOf(target), route: route?.plan.name ?? '' };
  const options = {
    managerReadySeconds: MANAGER_READY_SECONDS,
    taken,
    own,
    unready,
    onFound,
    afterServices,
    beforeLeases: () => leases?.end(),
    ...waiting,
  };
  await resumeManager(work, pausing);
  const restored = await restore(work, namespacesOf(target), options);
  reportKept(restored, emit);
  const { changes, left, notStarted } = restored;
  const event = {
    type: 'session.restored',
    session: sessionId,
    changes,
    ms: performance.now() - since,
  } as const;
  return { event: isReported(changes) ? event : undefined, left, notStarted };
}

/**
 * Makes reviews fail fast when nothing answers them. Without a supervisor, the user's own process may answer, and devloop does not see when
 * that process ends.
 */
function refuseUnanswered(gateways: Gateways, supervisor: Supervisor | undefined): void {
  if (supervisor) return void supervisor.leave(gateways);
  gateways.failFast(NO_CONTROLLER);
  gateways.release();
}

/** A manager that is paused by its Lease is resumed here; any other manager is resumed by the undo in its mark. */
async function resumeManager(work: Work, pausing: PausingManager[]): Promise<void> {
  await allDone(pausing.map(async ({ resume }) => resume?.(work))).catch((error) => {
    work.emit(notice('restore.lease-not-released', { cause: messageOf(error) }));
  });
}

function away(error: unknown, { isFailure }: SessionEnd): DevloopEvent {
  return notice('restore.delayed', { cause: messageOf(error), isFailure });
}
