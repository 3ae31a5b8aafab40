import type { Work } from '../../cluster/work.ts';
import type { Supervisor } from '../../controller/supervisor.ts';
import type { Target } from '../../operator/target.ts';
import { namespacesOf } from '../context/holders.ts';
import type { ChosenRoute } from '../route/open-route.ts';
import type { OpenRoute } from '../route/routing.ts';
import { waitUntilLetGo } from './answering.ts';
import { incomplete, MANAGER_READY_SECONDS, reportKept, restore } from './restore.ts';

/** What is running when `up` ends. */
export interface Standing {
  route?: ChosenRoute | undefined;
  supervisor?: Supervisor | undefined;
  /** Something may have been written to the cluster. */
  mayHaveChanged: boolean;
}

/** Why `up` ends. */
export interface Ending {
  reason: string;
  /** It failed, and nobody pressed Ctrl-C: if nothing had been changed, the error is all there is to say. */
  isFailure: boolean;
}

/**
 * The end of `up`: the cluster first, while the local controller still answers; then the gateways; then the controller. Never
 * interrupted: a second Ctrl-C ends the process, and `devloop down` restores the rest.
 */
export async function endUp(work: Work, target: Target, standing: Standing, ending: Ending): Promise<void> {
  await using local = new AsyncDisposableStack();
  if (standing.route) local.use(standing.route);
  if (standing.supervisor) local.use(standing.supervisor);
  if (standing.mayHaveChanged) await restoreAll(work, target, standing.route, ending);
}

async function restoreAll(
  { api, sessionId, emit }: Work,
  target: Target,
  route: OpenRoute | undefined,
  { reason, isFailure }: Ending,
): Promise<void> {
  const startedAt = performance.now();
  const work: Work = { api, sessionId, emit, signal: new AbortController().signal };
  const isReported = (changes: number): boolean => changes > 0 || !isFailure;
  route?.gateways.release();
  // A review that meets the closing of an idle connection is lost, so each connection in use is closed with an answer.
  route?.gateways.closeAfterNextAnswer();
  const afterServices =
    route &&
    (async () => {
      await waitUntilLetGo(work, target);
      // While the route is still open, so that the last answers arrive.
      await route.gateways.drain();
    });
  const onFound = (changes: number): void => {
    if (isReported(changes)) emit({ type: 'session.stopping', reason });
  };
  const options = { readySeconds: MANAGER_READY_SECONDS, onFound, afterServices };
  const restored = await restore(work, namespacesOf(target), options);
  reportKept(restored, emit);
  const { changes } = restored;
  if (isReported(changes))
    emit({ type: 'session.restored', session: sessionId, changes, ms: performance.now() - startedAt });
  if (restored.left.length > 0) throw incomplete(restored.left.length);
}
