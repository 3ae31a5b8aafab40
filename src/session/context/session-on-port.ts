import { sessionListensOn } from '../../machine/process.ts';
import type { LocalMachine } from './local-machine.ts';
import { type LocalSession, localSessions } from './local-sessions.ts';
import { controllersOf } from './session-directories.ts';

/** The running session of this machine whose controller listens on the port. */
export async function sessionOnPort(port: number, machine: LocalMachine): Promise<LocalSession | undefined> {
  for (const session of await localSessions(machine))
    for (const pid of await controllersOf(machine, [session.id]))
      if (await sessionListensOn(pid, port)) return session;
  return undefined;
}
