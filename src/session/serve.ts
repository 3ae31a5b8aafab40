import type { HeldLease } from '../cluster/takeover/lease.ts';
import type { Supervisor } from '../controller/supervisor.ts';
import { followKeyPairs, type KeyPairs } from '../local/key-pairs.ts';
import type { Session } from './context/session.ts';
import type { OpenRoute } from './route/routing.ts';

/** What runs while reviews flow. */
export interface Serving {
  held: HeldLease[];
  pairs: KeyPairs;
  route: OpenRoute | undefined;
  supervisor: Supervisor | undefined;
}

/** The long part: changes are built and swapped in, certificates are followed, until the signal aborts. */
export async function serve(session: Session, serving: Serving, signal: AbortSignal): Promise<void> {
  const { held, pairs, route, supervisor } = serving;
  const { io } = session;
  // Who reads that it is ready may ask `status` at once.
  if (route) await announceRoute(held, route);
  io.emit({ type: 'session.ready', session: session.id, ms: performance.now() - session.started });
  if (!supervisor) io.emit({ type: 'note', message: invitation(session) });
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const present: OpenRoute['gateways']['present'] = (name, pair) => route?.gateways.present(name, pair);
  const following = followKeyPairs(session, pairs, present, signal);
  await Promise.race([ended, supervisor?.follow() ?? ended]);
  await Promise.race([following, ended]);
}

async function announceRoute(held: HeldLease[], { route }: OpenRoute): Promise<void> {
  await Promise.all(held.map((lease) => lease.update({ route: `${route.name} ${route.via}` })));
}

function invitation({ target, files }: Session): string {
  const port = target.services[0]?.ports[0]?.targetPort;
  if (port === undefined) return 'Start your process now; the in-cluster manager is quiet.';
  return `Start your process now; reviews wait for it at 127.0.0.1:${port}. Its key pair lies in ${files.certificates}.`;
}
