import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { pollUntil, reportWhileWaiting } from '../../async.ts';
import { type ClusterApi, connect } from '../../cluster/api/client.ts';
import { loadKubeconfig } from '../../cluster/api/kubeconfig.ts';
import { describeExit } from '../../controller/exit-cause.ts';
import { recordStarted } from '../../controller/orphan.ts';
import { type ControllerProcess, startController } from '../../controller/process.ts';
import { DevloopError } from '../../errors.ts';
import { commandsHere } from '../../machine/commands.ts';
import { freePort, isPortBusy, loopbackProblem } from '../../machine/port.ts';
import type { Io } from '../context/options.ts';
import { processRecord } from '../context/session-directories.ts';
import { doesNotOpen, type KeptData } from './kept.ts';
import { apiServerFiles, etcdArguments, etcdUrl, LOOPBACK } from './server-arguments.ts';

/** etcd and kube-apiserver on the loopback interface, which are gone when they are disposed. */
export interface ControlPlane extends AsyncDisposable {
  /** Its kubeconfig. */
  file: string;
  /** Resolves when one of the programs has ended by itself, with the error that says so. */
  ended: Promise<DevloopError>;
}

interface Wanted {
  /** The directory of envtest's programs. */
  assets: string;
  /** Where its files are. */
  directory: string;
  /** What its context is called. */
  name: string;
  /** A unix socket, where it asks for connections to Services. */
  egress?: string;
  /** Used if it is free. */
  port?: number;
  /** Where etcd keeps its data; below `directory`, which is removed with it, unless this is set. */
  kept?: KeptData | undefined;
}

type Program = 'etcd' | 'kube-apiserver';

export const READY_SECONDS = 60;
const LOOK_EVERY_MS = 50;
const MOST_LINES = 10;

/** Starts them, and waits until the API server serves CRDs. Throws 'cluster.unreachable', and 'embedded.data' if etcd cannot use what is kept. */
export async function startControlPlane(wanted: Wanted, io: Io): Promise<ControlPlane> {
  const { assets, directory, name, egress, kept } = wanted;
  await using started = new AsyncDisposableStack();
  const start = (program: Program, args: string[]): ControllerProcess => {
    const path = join(assets, program);
    const run = { command: [path, ...args], cwd: directory, env: cleanEnv(io.env) };
    const running = startController(
      run,
      () => {},
      (pid) => recordStarted(processRecord(directory, program), { pid, command: [path] }),
    );
    // They take seconds to end by themselves, and what etcd has answered is on the disk.
    started.defer(async () => void (await running.stop({ graceMs: 0 })));
    return running;
  };
  await requireLoopback();
  const port = await portFor(wanted.port);
  const etcd = start('etcd', etcdArguments(kept?.data ?? join(directory, 'etcd'), kept !== undefined));
  const { args, kubeconfig: file } = await apiServerFiles({
    directory,
    name,
    etcd: etcdUrl(directory),
    port,
    egress,
  });
  const server = start('kube-apiserver', args);
  const ended = Promise.race([endOf('etcd', etcd, directory), endOf('kube-apiserver', server, directory)]);
  await using api = await connect(await loadKubeconfig({ kubeconfig: file }, {}, directory));
  const waiting = { for: "envtest's API server", limitSeconds: READY_SECONDS };
  const first = await reportWhileWaiting(Promise.race([servesCrds(api, io.signal), ended]), waiting, io.emit);
  if (first !== true) {
    io.signal.throwIfAborted();
    if (first === false)
      throw notStarted(assets, `did not start within ${READY_SECONDS} s`, server.lastLines());
    if (first.shortage !== undefined) throw noRoom(first.shortage);
    const error = notStarted(assets, `did not start: ${first.how}`, first.lines);
    throw kept?.isOld && first.hasEtcdGivenUp ? doesNotOpen(kept, error) : error;
  }
  const owned = started.move();
  return {
    file,
    ended: ended.then(endedAlone),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function requireLoopback(): Promise<void> {
  const problem = await loopbackProblem();
  if (problem === undefined) return;
  throw new DevloopError(
    'cluster.unreachable',
    `An API server on this machine listens on ${LOOPBACK}, which does not work here: ${problem}.`,
    { hint: `Check the loopback interface: ${commandsHere.loopback}` },
  );
}

async function portFor(wished: number | undefined): Promise<number> {
  return wished === undefined || (await isPortBusy(wished)) ? await freePort() : wished;
}

function servesCrds(api: ClusterApi, signal: AbortSignal): Promise<boolean> {
  const isReady = () =>
    api.list('CustomResourceDefinition', undefined).then(
      () => true,
      () => false,
    );
  return pollUntil(isReady, { everyMs: LOOK_EVERY_MS, limitMs: READY_SECONDS * 1000, signal });
}

interface Ended {
  /** Set if there is no room for their files. */
  shortage: string | undefined;
  /** Such as `was killed by SIGKILL`. */
  how: string;
  lines: string[];
  /** Whether etcd has exited and was not killed, as with data that it cannot read. */
  hasEtcdGivenUp: boolean;
}

async function endOf(
  program: Program,
  { pid, exited, lastLines }: ControllerProcess,
  directory: string,
): Promise<Ended> {
  const exit = await exited;
  const how = `${program}${pid === undefined ? '' : ` (pid ${pid})`} ${describeExit(exit)}`;
  // Of a program that was killed, they explain nothing.
  const lines = exit.signal === null ? lastLines() : [];
  const hasEtcdGivenUp = program === 'etcd' && exit.signal === null;
  return { how, lines, hasEtcdGivenUp, shortage: await shortageIn(directory) };
}

function notStarted(assets: string, why: string, lines: string[]): DevloopError {
  return new DevloopError('cluster.unreachable', withLines(`The API server in ${assets} ${why}`, lines), {
    hint: 'Check KUBEBUILDER_ASSETS: setup-envtest use -p path',
  });
}

function endedAlone({ how, lines, shortage }: Ended): DevloopError {
  const message = withLines(`The session has ended, because its ${how}`, shortage ? [shortage] : lines);
  return new DevloopError('embedded.ended', message, { hint: 'devloop up --embedded' });
}

function noRoom(shortage: string): DevloopError {
  return new DevloopError('files.not-written', `The API server cannot write its files: ${shortage}.`, {
    hint: 'Make room there, or choose another directory: XDG_STATE_HOME=DIR devloop up --embedded',
  });
}

const NEEDED_MB = 128;

/** Their own words about a full disk are a trace. */
async function shortageIn(directory: string): Promise<string | undefined> {
  const found = await statfs(directory).catch(() => undefined);
  if (found === undefined) return undefined;
  const free = Math.floor((found.bavail * found.bsize) / 2 ** 20);
  return free >= NEEDED_MB ? undefined : `${free} MB are left in ${directory}, and etcd needs ${NEEDED_MB}`;
}

function withLines(message: string, lines: string[]): string {
  // What a Go program prints after that is a trace.
  const panic = lines.findIndex((line) => /^(panic|fatal error): /.test(line));
  const shown = panic < 0 ? lines.slice(-MOST_LINES) : lines.slice(panic, panic + 1);
  return shown.length === 0 ? `${message}.` : `${message}:\n${shown.join('\n')}`;
}

function cleanEnv(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
