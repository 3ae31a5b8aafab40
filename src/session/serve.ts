import type { HeldLease } from '../cluster/takeover/lease.ts';
import type { Supervisor } from '../controller/supervisor.ts';
import { writeFoundPair } from '../local/key-pair-files.ts';
import { type FoundPair, followKeyPairs, type KeyPairs } from '../local/key-pairs.ts';
import type { OpenRoute } from './route/routing.ts';
import { keyPairSearch } from './start/local-inputs.ts';
import type { Session } from './start/session.ts';

/** What runs while reviews flow. */
export interface Serving {
  held: HeldLease[];
  pairs: KeyPairs;
  /** Where the controller looks for its key pair. */
  keyPairDirectories: string[];
  route: OpenRoute | undefined;
  supervisor: Supervisor | undefined;
}

/** The long part: changes are built and swapped in, certificates are followed, until the signal aborts. */
export async function serve(session: Session, serving: Serving, signal: AbortSignal): Promise<void> {
  const { held, pairs, keyPairDirectories, route, supervisor } = serving;
  const { target, io } = session;
  // Who reads that it is ready may ask `status` at once.
  if (route) await announceRoute(held, route);
  io.emit({ type: 'session.ready', session: session.id, ms: performance.now() - session.started });
  if (!supervisor) io.emit({ type: 'note', message: invitation(session) });
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const useRenewed = async (serverName: string, found: FoundPair): Promise<void> => {
    // The controller serves with the key pair of the first Service; the gateway has them all.
    if (serverName === target.services[0]?.serverName)
      for (const directory of keyPairDirectories) await writeFoundPair(directory, found, io.emit);
    route?.gateways.present(serverName, found.pair);
  };
  const following = followKeyPairs(keyPairSearch(session), pairs, useRenewed, { emit: io.emit, signal });
  await Promise.race([ended, supervisor?.follow() ?? ended]);
  await Promise.race([following, ended]);
}

async function announceRoute(held: HeldLease[], { route }: OpenRoute): Promise<void> {
  await Promise.all(held.map((lease) => lease.update({ route: `${route.name} ${route.via}` })));
}

function invitation({ target, files }: Session): string {
  const port = target.services[0]?.ports[0]?.targetPort;
  if (port === undefined) return 'Start your process now; the in-cluster manager is quiet.';
  return `Start your process now; reviews wait for it at 127.0.0.1:${port}. Its key pair is in ${files.keyPairDirectory}.`;
}
