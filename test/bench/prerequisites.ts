import { access, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { ensurePrerequisites as ensureClusterPrerequisites } from '../cluster/prerequisites.ts';
import { BROWSER_PACKAGES } from '../support/browser.ts';

/** What a part of the bench needs besides Node and Go. */
export type Needs = 'cluster' | 'controller ports' | 'network' | 'autossh' | 'browser' | 'HAProxy' | 'Docker';

const log = (line: string): void => console.error(line);

/** The ports of the sample operator: webhooks, metrics and health. */
const CONTROLLER_PORTS = [9443, 8443, 8081];

/** Installs or builds what is missing, before anything is measured. Rejects with the cause if that fails. */
export async function ensurePrerequisites(needs: Set<Needs>): Promise<void> {
  if (needs.has('controller ports')) await requireFree(CONTROLLER_PORTS);
  if (needs.has('network')) await requireTun();
  const more: Record<string, string> = {
    ...(needs.has('autossh') ? { autossh: 'autossh' } : {}),
    ...(needs.has('HAProxy') ? { haproxy: 'haproxy' } : {}),
    ...(needs.has('Docker') ? { dockerd: 'docker.io', docker: 'docker.io' } : {}),
    ...(needs.has('browser') ? BROWSER_PACKAGES : {}),
  };
  if (needs.size > 0) await ensureClusterPrerequisites(log, more);
  if (needs.has('cluster')) await ensureClusterBinaries({ log });
}

async function requireFree(ports: number[]): Promise<void> {
  for (const port of ports) {
    if (await isTaken(port))
      throw new Error(`port ${port} of this machine is in use; the sample operator needs it`);
  }
}

function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (taken: boolean): void => {
      socket.destroy();
      resolve(taken);
    };
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
}

/** The link with a round-trip time consists of two TUN devices. */
async function requireTun(): Promise<void> {
  const hasDevice = await access('/dev/net/tun').then(
    () => true,
    () => false,
  );
  const loaded = await readFile('/proc/misc', 'utf8').catch(() => '');
  if (!hasDevice && !/ tun$/m.test(loaded))
    throw new Error('the kernel has no TUN devices, which the tunnel part needs: modprobe tun');
}
