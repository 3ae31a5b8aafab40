import { basename, join } from 'node:path';
import { AGAIN, DevloopError } from '../../errors.ts';
import type { OtherPort } from '../../local/ports.ts';
import {
  describeOwner,
  freePort,
  isPortForbidden,
  openingPort,
  requireFreePort,
} from '../../machine/port.ts';
import { sessionListensOn } from '../../machine/process.ts';
import { portOwner, variableOf } from '../../machine/system.ts';
import { shellWord } from '../../phrases.ts';
import { isRunning, type LocalMachine } from './local-machine.ts';
import { type LocalSession, localSessions, ownerOf } from './local-sessions.ts';
import type { UpOptions } from './options.ts';
import { controllersOf } from './session-directories.ts';

/** A process that seems to have ended can keep its port this much longer, because its last thread closes it. */
const CLOSING_MS = 500;

/**
 * Throws 'port.in-use' if the controller cannot listen on the port, and names the session or the process that does. A port in use by one of
 * the process groups `ending` counts as free.
 */
export async function requireControllerPort(
  port: number,
  machine: LocalMachine,
  ending: number[] = [],
): Promise<void> {
  await requireFreePort(port, CLOSING_MS, ending).catch((error) => namingSession(error, port, machine));
}

/** Throws the error; if it says that the port is in use, and a session's controller has the port, with that session. */
export async function namingSession(
  error: unknown,
  port: number | undefined,
  machine: LocalMachine,
): Promise<never> {
  if (port === undefined || !(error instanceof DevloopError) || error.code !== 'port.in-use') throw error;
  const session = (await sessionOnPort(port, machine)) ?? (await sessionElsewhere(port));
  throw session === undefined ? error : inUseBy(session, port);
}

/**
 * A free port, if the controller cannot listen on `port`; otherwise undefined. `ending`: as in `requireControllerPort`. `taken`: ports that
 * are not to be used; the new one is added to them.
 */
export async function portElsewhere(
  port: number,
  claims: Claims,
  { ending = [], taken = new Set() }: { ending?: number[]; taken?: Set<number> } = {},
): Promise<OtherPort | undefined> {
  const because = await whyElsewhere(port, claims, ending);
  if (because === undefined) return undefined;
  let free = await freePort();
  while (taken.has(free)) free = await freePort();
  taken.add(free);
  return { port: free, because };
}

async function whyElsewhere(port: number, claims: Claims, ending: number[]): Promise<string | undefined> {
  if (await isPortForbidden(port)) return `your account is not allowed to listen on port ${port}`;
  const other = claims.claimed?.get(port);
  if (other !== undefined && other !== claims.deployment)
    return `the controller of ${other} needs port ${port}`;
  const isFree = await requireFreePort(port, CLOSING_MS, ending).then(
    () => true,
    () => false,
  );
  return isFree ? undefined : `port ${port} is in use by ${describeOwner(await portOwner(port))}`;
}

/** The ports that the controllers of several Deployments need on this machine, and this controller's own Deployment. */
interface Claims {
  claimed?: UpOptions['claimed'];
  deployment?: string;
}

/**
 * Throws 'port.not-allowed' if the account is not allowed to listen on the port. Called only for a program that devloop builds: a command
 * of the user can have more permissions.
 */
export async function requirePermittedPort(port: number): Promise<void> {
  if (!(await isPortForbidden(port))) return;
  const message = `The controller needs port ${port}, on which your account is not allowed to listen, and devloop found no setting with which to change the port.`;
  throw new DevloopError('port.not-allowed', message, { hint: openingPort(port) });
}

/** The hint does not suggest killing the controller: its session would only start it again. */
function inUseBy({ id, checkout }: Pick<LocalSession, 'id' | 'checkout'>, port: number): DevloopError {
  const message = `The controller needs port ${port}, which is in use by the controller of session ${id}.`;
  // The session may use another cluster, where `down` would not look.
  const hint = `Press Ctrl-C in its terminal (it runs in ${checkout}), or, if it uses this cluster: devloop down`;
  return new DevloopError('port.in-use', message, { hint });
}

/**
 * Throws 'port.in-use' if another Deployment that is taken over at the same time needs the port for its controller, even if that has not
 * started yet.
 */
export function claimPort(port: number, { claimed, deployment }: Claims): void {
  if (claimed === undefined || deployment === undefined) return;
  const other = claimed.get(port) ?? deployment;
  claimed.set(port, other);
  if (other === deployment) return;
  const message = `The controllers of ${other} and ${deployment} both need port ${port} of this machine, so they cannot run side by side.`;
  const hint = [
    'Take over one of them:',
    ...[other, deployment].map((one) => `${AGAIN} --deployment ${shellWord(one)}`),
  ];
  throw new DevloopError('port.in-use', message, { hint: hint.join('\n') });
}

/** The running session of this machine whose controller listens on the port. */
export async function sessionOnPort(port: number, machine: LocalMachine): Promise<LocalSession | undefined> {
  for (const session of await localSessions(machine))
    for (const pid of await controllersOf(machine, [session.id]))
      if (await sessionListensOn(pid, port)) return session;
  return undefined;
}

/** That of another state directory, as with another home: the controller's kubeconfig is in the directory of its start, below the session's. */
async function sessionElsewhere(port: number): Promise<Pick<LocalSession, 'id' | 'checkout'> | undefined> {
  const listener = await portOwner(port);
  const kubeconfig = listener && (await variableOf(listener.pid, 'KUBECONFIG'));
  if (kubeconfig === undefined) return undefined;
  const directory = join(kubeconfig, '../..');
  const owner = ownerOf(directory);
  if (owner === undefined || owner.verifies || !(await isRunning(owner))) return undefined;
  return { id: basename(directory), checkout: owner.checkout };
}
