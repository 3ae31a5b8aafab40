import { DevloopError } from '../../errors.ts';
import { describeOwner, isPortBusy } from '../../machine/port.ts';
import { portOwner } from '../../machine/system.ts';
import { thisMachine } from '../context/local-machine.ts';
import { sessionOnPort } from '../context/session-on-port.ts';

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
  const session = await sessionOnPort(port, await thisMachine(env));
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
