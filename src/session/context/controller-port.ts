import { DevloopError } from '../../errors.ts';
import { requireFreePort } from '../../machine/port.ts';
import type { LocalMachine } from './local-machine.ts';
import type { LocalSession } from './local-sessions.ts';
import { sessionOnPort } from './session-on-port.ts';

/** So long the port of a process that looks ended can still be in use: its last thread closes it. */
const CLOSING_MS = 500;

/**
 * Throws 'port.in-use' where the controller could not listen, and names the session or the process that does. A port of one of the process
 * groups `ending` counts as free.
 */
export async function requireControllerPort(
  port: number,
  machine: LocalMachine,
  ending: number[] = [],
): Promise<void> {
  try {
    await requireFreePort(port, CLOSING_MS, ending);
  } catch (error) {
    const session = await sessionOnPort(port, machine);
    throw session === undefined ? error : inUseBy(session, port);
  }
}

/** Nothing to kill: a session that loses its controller only starts it again. */
function inUseBy({ id, checkout }: LocalSession, port: number): DevloopError {
  const message = `The controller needs port ${port}, which is in use by the controller of session ${id}.`;
  // The session may be of another cluster, where `down` would not look.
  const hint = `Press Ctrl-C in its terminal (it runs in ${checkout}), or, if it uses this cluster: devloop down`;
  return new DevloopError('port.in-use', message, { hint });
}
