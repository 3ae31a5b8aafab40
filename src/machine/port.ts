import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { DevloopError } from '../errors.ts';
import { firstOfLsof, listeningInodes } from './socket-table.ts';
import { runTool } from './tool.ts';

export interface PortOwner {
  pid: number;
  command: string;
}

/** The process that listens on a TCP port; undefined when there is none, or it belongs to another user. */
export async function portOwner(port: number): Promise<PortOwner | undefined> {
  return process.platform === 'linux' ? ownerByProc(port) : ownerByLsof(port);
}

/** Whether a server could not listen on this port, on whichever address of this machine. */
export async function isPortBusy(port: number): Promise<boolean> {
  // Each catches what another lets through: a listener on one address does not always exclude one on all of them.
  for (const host of ['::', '0.0.0.0', '127.0.0.1']) if (await isBusyOn(host, port)) return true;
  return false;
}

/** Throws 'port.in-use' with the name of the process that is in the way. */
export async function requireFreePort(port: number): Promise<void> {
  if (!(await isPortBusy(port))) return;
  const owner = await portOwner(port);
  throw new DevloopError(
    'port.in-use',
    `Port ${port}, which the controller needs, is held by ${describeOwner(owner)}.`,
    {
      hint: owner
        ? `If it is another session of devloop, end that with devloop down; otherwise: kill ${owner.pid}`
        : 'End that process first.',
    },
  );
}

export function describeOwner(owner: PortOwner | undefined): string {
  return owner ? `process ${owner.pid} (${owner.command})` : 'a process that this user may not see';
}

function isBusyOn(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(false)));
  });
}

async function ownerByProc(port: number): Promise<PortOwner | undefined> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'utf8').catch(() => '')),
  );
  const sockets = new Set(
    tables.flatMap((table) => listeningInodes(table, port)).map((inode) => `socket:[${inode}]`),
  );
  if (sockets.size === 0) return undefined;
  for (const name of await readdir('/proc')) {
    if (/^\d+$/.test(name) && (await holdsOneOf(name, sockets))) {
      return { pid: Number(name), command: await commandOf(name) };
    }
  }
  return undefined;
}

async function holdsOneOf(pid: string, sockets: Set<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const links = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return links.some((link) => sockets.has(link));
}

async function commandOf(pid: string): Promise<string> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return commandLine.split('\0').join(' ').trim();
}

async function ownerByLsof(port: number): Promise<PortOwner | undefined> {
  const { stdout } = await runTool(['lsof', '-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']);
  return firstOfLsof(stdout);
}
