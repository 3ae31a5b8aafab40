import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { endianness } from 'node:os';
import { sharingNext } from '../async.ts';

/** The id of the boot, the PID namespace in which this pid is valid, and the kernel's start tick. */
export function startTimeOf(pid: number): string | undefined {
  const stat = parseStat(textNow(`/proc/${pid}/stat`));
  if (!stat || stat.state === 'Z') return undefined;
  const boot = textNow('/proc/sys/kernel/random/boot_id').trim();
  return `${boot}/${pidNamespace()}/${stat.startTick}`;
}

/** The number in `pid:[4026531836]`. Each container on a machine has a namespace of its own, and numbers its processes from 1. */
function pidNamespace(): string {
  return /\d+/.exec(linkNow('/proc/self/ns/pid'))?.[0] ?? '';
}

/** Stopped by a signal, or by a debugger. */
export function isSuspended(pid: number): boolean {
  return parseStat(textNow(`/proc/${pid}/stat`))?.state.toUpperCase() === 'T';
}

/** A process without a controlling terminal is never stopped for using a terminal. */
export function isInForeground(): boolean {
  const stat = parseStat(textNow('/proc/self/stat'));
  return stat !== undefined && (stat.terminal === 0 || stat.foreground === stat.group);
}

export async function hasRunningMember(group: number): Promise<boolean> {
  const stats = await Promise.all((await pids()).map(statOf));
  return stats.some((stat) => stat?.group === group && isRunning(stat));
}

/**
 * Whether a process is in a session. A process that devloop starts leads both a group and a session. A debugger puts the process that it
 * debugs into another group of the same session.
 */
function isIn(leader: number, { group, session }: Stat): boolean {
  return group === leader || session === leader;
}

function isRunning({ state }: Stat): boolean {
  return state !== 'Z' && state !== 'X';
}

export async function groupsOf(leader: number): Promise<number[]> {
  const stats = await Promise.all((await pids()).map(statOf));
  return [
    ...new Set(stats.flatMap((stat) => (stat && isIn(leader, stat) && isRunning(stat) ? stat.group : []))),
  ];
}

export async function groupListensOn(group: number, port: number): Promise<boolean> {
  const sockets = new Set<string>();
  for (const file of CONNECTIONS) {
    const found = socketsIn(textNow(file), port);
    // The group's leader is checked first, because usually it is the one that listens, and checking all processes takes several
    // milliseconds.
    if (found.size > 0 && hasOpenNow(String(group), found)) return true;
    for (const socket of found) sockets.add(socket);
  }
  if (sockets.size === 0) return false;
  // Only root can list the open files of a program that has capabilities of its own, so this program may be the one that listens.
  if (!(await canRead(`/proc/${group}/fd`))) return true;
  for (const pid of await pids()) {
    if ((await statOf(pid))?.group === group && (await hasOpen(pid, sockets))) return true;
  }
  return false;
}

/** Programs in Go appear in the table of IPv6, even with connections over IPv4. */
const CONNECTIONS = ['/proc/net/tcp6', '/proc/net/tcp'];
const CONNECTION_TABLES = CONNECTIONS.map(tableIn);
/**
 * Reading a table takes several milliseconds, and longer with many connections, so a synchronous read blocks this process at most once in
 * this time.
 */
const SELDOM_MS = 1_000;

/**
 * Reads a table of connections. While a controller starts, it keeps all processors busy. An asynchronous read then waits for a processor at
 * each piece of the table, and takes ten times as long, so the table is read synchronously. But after a restart, all connections to the
 * controller need the table at once, so they share an asynchronous read.
 */
function tableIn(file: string): () => Promise<string> {
  const shared = sharingNext(() => textOf(file));
  let readAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - readAt < SELDOM_MS) return await shared();
    readAt = performance.now();
    return textNow(file);
  };
}

function socketsIn(table: string, port: number): Set<string> {
  return new Set(listeningInodes(table, port).map((inode) => `socket:[${inode}]`));
}

export async function portOwner(port: number): Promise<{ pid: number; name: string } | undefined> {
  const tables = await Promise.all(CONNECTION_TABLES.map((table) => table()));
  const sockets = new Set(tables.flatMap((table) => [...socketsIn(table, port)]));
  if (sockets.size === 0) return undefined;
  for (const pid of await pids()) {
    if (!(await hasOpen(pid, sockets))) continue;
    return { pid: Number(pid), name: (await textOf(`/proc/${pid}/comm`)).trim() };
  }
  return undefined;
}

export async function variableOf(pid: number, name: string): Promise<string | undefined> {
  const all = (await textOf(`/proc/${pid}/environ`)).split('\0');
  return all.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Synchronous, since asynchronous reads of so many files take ten times as long on a busy machine. */
export async function startedBy(leader: number, mark: string): Promise<number[]> {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const stat = parseStat(textNow(`/proc/${pid}/stat`));
      if (stat === undefined || !isRunning(stat)) return false;
      return isIn(leader, stat) || textNow(`/proc/${pid}/environ`).split('\0').includes(mark);
    })
    .map(Number);
}

const LISTENING = '0A';

/** The inodes of the sockets that listen on a port, from the text of /proc/net/tcp or tcp6. */
export function listeningInodes(table: string, port: number): string[] {
  const suffix = suffixOf(port);
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix) && fields[3] === LISTENING)
    .map((fields) => fields[9]!);
}

/** The two ends of a connection over IPv4. */
export interface Ends {
  local: End;
  remote: End;
}

export interface End {
  address: string;
  port: number;
}

export async function peerUser(ends: Ends): Promise<number | 'gone'> {
  const look = async (): Promise<number | undefined> => {
    for (const table of CONNECTION_TABLES) {
      const [user] = peerUsers(await table(), ends);
      if (user !== undefined) return user;
    }
    return undefined;
  };
  // The kernel can skip a line while other lines are removed, so the tables are read twice.
  return (await look()) ?? (await look()) ?? 'gone';
}

const ESTABLISHED = '01';

/**
 * The users of the sockets at the other end of a connection, from the text of /proc/net/tcp or tcp6: the other socket's local end is this
 * one's remote end. Both ends can be any address of 127.0.0.0/8. A socket that its program has closed can be listed as root's, so root
 * counts only while the connection is established.
 */
export function peerUsers(table: string, { local, remote }: Ends): number[] {
  const own = endingOf(local);
  const others = endingOf(remote);
  const isAt = (listed = '', ending: string): boolean => MAPPED.test(listed) && listed.endsWith(ending);
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, from, to]) => isAt(from, others) && isAt(to, own))
    .filter(([, , , state, , , , user]) => user !== '0' || state === ESTABLISHED)
    .map((fields) => Number(fields[7]));
}

/** How the table writes an end: in the byte order of the machine. */
function endingOf({ address, port }: End): string {
  const bytes = address.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'));
  const hex = (endianness() === 'LE' ? bytes.toReversed() : bytes).join('').toUpperCase();
  return `${hex}${suffixOf(port)}`;
}

/** Matches an IPv4 address in the table, plain or mapped to IPv6. */
const MAPPED = /^(0{16}(FFFF0000|0000FFFF))?[0-9A-F]{8}:/;

function suffixOf(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}

interface Stat {
  state: string;
  group: number;
  /** The number of its terminal; 0 without one. */
  terminal: number;
  /** The process group in the foreground of that terminal. */
  foreground: number;
  session: number;
  startTick: string;
}

async function statOf(pid: string): Promise<Stat | undefined> {
  return parseStat(await textOf(`/proc/${pid}/stat`));
}

function parseStat(text: string): Stat | undefined {
  if (text === '') return undefined;
  // The second field is the program's name in parentheses, which can contain spaces and parentheses itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [, , group, session, terminal, foreground] = fields.map(Number);
  return {
    state: fields[0]!,
    group: group!,
    session: session!,
    terminal: terminal!,
    foreground: foreground!,
    startTick: fields[19]!,
  };
}

async function hasOpen(pid: string, sockets: Set<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const links = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return links.some((link) => sockets.has(link));
}

/** Like `hasOpen`, but synchronous, for a process that devloop has started: it has few open files. */
function hasOpenNow(pid: string, sockets: Set<string>): boolean {
  try {
    const directory = `/proc/${pid}/fd`;
    return readdirSync(directory).some((fd) => sockets.has(linkNow(`${directory}/${fd}`)));
  } catch {
    return false;
  }
}

function canRead(directory: string): Promise<boolean> {
  return readdir(directory).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'EACCES',
  );
}

async function pids(): Promise<string[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
}

/** Empty when there is no such file, or this user is not allowed to read it. */
async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

function linkNow(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}

/** Like `textOf`, but synchronous. The kernel answers from memory, so this does not wait for a disk. */
function textNow(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
