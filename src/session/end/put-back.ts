import type { ClusterApi } from '../../cluster/api/client.ts';
import type { Work } from '../../cluster/work.ts';
import type { Supervisor } from '../../controller/supervisor.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import type { Target } from '../../operator/target.ts';
import { namespacesOf } from '../context/holders.ts';
import type { Io } from '../context/options.ts';
import { IN_A_ROW, probeUntil, serviceProber } from '../route/proof.ts';
import type { OpenRoute } from '../route/routing.ts';
import { hasReadyPods } from './answering.ts';
import { reportLeft, restore } from './restore.ts';

export interface Ending {
  api: ClusterApi;
  session: string;
  target: Target;
  route: OpenRoute | undefined;
  supervisor: Supervisor | undefined;
  /** Something may have been written to the cluster. */
  begun: boolean;
  failed: boolean;
  io: Io;
}

const READY_SECONDS = 90;
const LET_GO_MS = 10_000;

/**
 * The end of `up`: the cluster first, while the local controller still answers; then the connections; then what runs here.
 * Never interrupted: a second Ctrl-C ends the process, and the marks make that safe.
 */
export async function putBack(ending: Ending): Promise<void> {
  const { route, supervisor } = ending;
  await using local = new AsyncDisposableStack();
  if (route) local.use(route);
  if (supervisor) local.use(supervisor);
  if (ending.begun) await restoreCluster(ending);
}

async function restoreCluster({ api, session, target, route, failed, io }: Ending): Promise<void> {
  const started = performance.now();
  const { emit, signal } = io;
  const work: Work = { api, sessionId: session, emit, signal: new AbortController().signal };
  const reason = signal.aborted ? String(signal.reason ?? 'interrupted') : failed ? 'it failed' : 'ended';
  // A failure before anything was changed is all there is to say.
  const isTold = (changes: number): boolean => changes > 0 || !failed || signal.aborted;
  route?.gateways.release();
  // A review that crosses the closing of an idle connection is lost, so a connection in use has to be closed by an answer.
  route?.gateways.closeAfterNextAnswer();
  const afterServices =
    route &&
    (async () => {
      await waitUntilLetGo(work, target);
      // While the way still stands, so that the last answers get through.
      await route.gateways.drain();
    });
  const onFound = (changes: number): void => {
    if (isTold(changes)) emit({ type: 'session.stopping', reason });
  };
  const options = { readySeconds: READY_SECONDS, onFound, afterServices };
  const restored = await restore(work, namespacesOf(target), options);
  reportLeft(restored, emit);
  const { changes } = restored;
  if (isTold(changes)) emit({ type: 'session.restored', session, changes, ms: performance.now() - started });
  if (restored.left.length > 0) throw incomplete(restored.left.length);
}

/** kube-proxy follows at its own time: the gateway stays until kube-apiserver is answered by somebody else, several times in a row. */
async function waitUntilLetGo(work: Work, target: Target): Promise<void> {
  const { api, emit, signal } = work;
  await Promise.all(
    target.services.map(async (service) => {
      try {
        if (!(await hasReadyPods(api, service.service))) return;
        await using prober = await serviceProber(work, service);
        await probeUntil(prober, 'other', IN_A_ROW, LET_GO_MS, signal);
      } catch (error) {
        emit({
          type: 'warning',
          message: `Could not see the in-cluster webhook answer again: ${messageOf(error)}`,
        });
      }
    }),
  );
}

export function incomplete(count: number): DevloopError {
  return new DevloopError(
    'undo.incomplete',
    `${count === 1 ? 'One object was' : `${count} objects were`} changed by somebody else meanwhile; those fields were kept as they are.`,
    {
      hint: 'The warnings above name the command that settles each.',
    },
  );
}
