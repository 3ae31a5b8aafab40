import type { Emit } from '../report/events.ts';

const QUIET_MS = 5000;
const CERTIFICATE_REFUSED = /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_\w+|UNSUPPORTED_CERTIFICATE)/;

/** Warns, but not over and over: a cluster that retries can send many reviews a second. */
export function createWarner(emit: Emit): (message: string) => void {
  const lastTold = new Map<string, number>();
  return (message) => {
    const now = performance.now();
    for (const [told, time] of lastTold) if (now - time > QUIET_MS) lastTold.delete(told);
    if (lastTold.has(message)) return;
    lastTold.set(message, now);
    emit({ type: 'warning', message });
  };
}

/** The warning for a client that ended the handshake because it does not trust the certificate; undefined for all other noise. */
export function certificateRefusal(
  error: NodeJS.ErrnoException,
  serverName: string | undefined,
): string | undefined {
  const alert = CERTIFICATE_REFUSED.exec(error.code ?? '')?.[1];
  if (alert === undefined) return undefined;
  const name = serverName === undefined ? '' : ` for ${serverName}`;
  return `a client refused the certificate${name}: ${alert.toLowerCase().replaceAll('_', ' ')}`;
}
