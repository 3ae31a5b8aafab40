import { DevloopError } from '../../errors.ts';
import { describeOwner, isPortBusy } from '../../machine/port.ts';
import { sessionListensOn } from '../../machine/process.ts';
import { portOwner } from '../../machine/system.ts';
import { thisMachine } from '../context/local-machine.ts';
import { controllersOf, type LocalSession, localSessions } from '../context/session-directories.ts';

/**
 * Throws 'port.in-use' where the manager could not listen, before it is built. A session's controller is nothing to end: the next command
 * asks it instead. `name`: of the saved set.
 */
export async function requireManagerPort(
  port: number,
  { checkout, name }: { checkout: string; name: string },
  env: Record<string, string | undefined>,
): Promise<void> {
  if (!(await isPortBusy(port))) return;
  const session = await sessionOn(port, env);
  if (session === undefined) {
    const owner = await portOwner(port);
    throw inUse(port, describeOwner(owner), `When it has ended: devloop reviews verify ${name}`);
  }
  const user = `the controller of session ${session.id}`;
  const other = `devloop up runs in ${session.checkout}. When it has ended: devloop reviews verify ${name}`;
  const ask = `To send the set to that controller: devloop reviews replay --set ${name}`;
  throw inUse(port, user, session.checkout === checkout ? ask : other);
}

function inUse(port: number, user: string, hint: string): DevloopError {
  const message = `The manager needs port ${port}, which is in use by ${user}.`;
  return new DevloopError('port.in-use', message, { hint });
}

/** The session of this machine whose controller listens there. */
async function sessionOn(
  port: number,
  env: Record<string, string | undefined>,
): Promise<LocalSession | undefined> {
  const machine = await thisMachine(env);
  for (const session of await localSessions(machine))
    for (const pid of await controllersOf(machine, [session.id]))
      if (await sessionListensOn(pid, port)) return session;
  return undefined;
}
