import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { sleep } from '../async.ts';
import { DevloopError, reportedError } from '../errors.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { Io } from '../session/context/options.ts';

/** The only session that this server starts and ends: a devloop of its own, which ends when the server does, however that ends. */
export interface EmbeddedSession extends AsyncDisposable {
  /** Whether it was started, and has not ended. */
  isStarted(): boolean;
  /** Where its API server is, while it is ready. */
  cluster(): Cluster | undefined;
  /** Starts it, or goes on waiting for it. Emits what is new. Throws the error with which it has ended. */
  start(waitMs: number, io: Pick<Io, 'emit' | 'signal'>): Promise<void>;
  /** Ends it. Emits what is new. Throws 'session.not-found' if this server has started none. */
  stop(emit: Emit): Promise<void>;
  /** Emits what has happened in it since this was last told: failed builds, warnings. */
  tell(emit: Emit): void;
  /** If it has ended by itself, emits how. */
  tellEnd(emit: Emit): void;
}

/** How long its end may take: it stops the controller and its API server. */
const END_MS = 30_000;
const MOST_EVENTS = 300;
/** They are asked for one by one, or are many, or are the answer of another tool. */
const NOT_TOLD = new Set<string>([
  'build.failed',
  'controller.output',
  'faults.listed',
  'reviews.held',
  'reviews.released',
  'waiting',
  'review',
  'call',
  'reconcile',
  'reviews.replayed',
]);

interface Cluster {
  kubeconfig: string;
  context: string;
}

interface Child {
  process: ChildProcess;
  /** Those that were not told yet. */
  events: DevloopEvent[];
  cluster: Cluster;
  isReady: boolean;
  started: PromiseWithResolvers<void>;
  ended: Promise<unknown>;
  hasEnded: boolean;
  /** Set once somebody has asked it to end. */
  ending?: Promise<void>;
  stderr: string;
}

/** `program`: how devloop is started. */
export function createEmbeddedSession(
  program: string[],
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): EmbeddedSession {
  let child: Child | undefined;
  const tellOf = ({ events }: Child, emit: Emit): void =>
    events.splice(0).forEach((event) => void emit(event));
  return {
    isStarted: () => child !== undefined && !child.hasEnded,
    cluster: () => (child?.isReady && !child.hasEnded ? child.cluster : undefined),
    async start(waitMs, { emit, signal }) {
      await child?.ending;
      if (child?.ending) child = undefined;
      child ??= startChild(program, { cwd, env });
      const running = child;
      const waited = new AbortController();
      const waiting = sleep(waitMs, AbortSignal.any([signal, waited.signal]));
      await Promise.race([running.started.promise, running.ended, waiting]);
      waited.abort();
      signal.throwIfAborted();
      const error = running.hasEnded ? failureOf(running) : undefined;
      tellOf(running, emit);
      if (error) {
        child = undefined;
        throw error;
      }
      if (!running.isReady) emit(notice('mcp.starting', { seconds: waitMs / 1000 }));
    },
    async stop(emit) {
      if (child === undefined) throw noneStarted();
      const ending = child;
      await end(ending);
      if (child === ending) child = undefined;
      tellOf(ending, emit);
      emit(notice('mcp.ended', {}));
    },
    tell: (emit) => void (child && tellOf(child, emit)),
    tellEnd(emit) {
      if (!child?.hasEnded) return;
      tellOf(child, emit);
      emit(notice('mcp.gone', {}));
      child = undefined;
    },
    async [Symbol.asyncDispose]() {
      if (child) await end(child);
    },
  };
}

/**
 * A signal could be the second one, after that of a terminal or of an earlier call, and the second one ends a devloop before it has cleaned
 * up. That its parent leaves counts only once.
 */
async function end(child: Child): Promise<void> {
  child.ending ??= (async () => {
    if (child.process.connected) child.process.disconnect();
    const timer = setTimeout(() => child.process.kill('SIGKILL'), END_MS);
    await child.ended;
    clearTimeout(timer);
  })();
  await child.ending;
}

function startChild([command, ...args]: string[], { cwd, env }: Pick<Io, 'cwd' | 'env'>): Child {
  const started = spawn(command!, [...args, 'up', '--embedded', '--json'], {
    ...{ cwd, env },
    // Its end closes the last of these, and then the session ends by itself.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const child: Child = {
    ...{ process: started, events: [], isReady: false, hasEnded: false, stderr: '' },
    cluster: { kubeconfig: '', context: '' },
    started: Promise.withResolvers(),
    // Node emits no `close` for a process that its parent has disconnected.
    ended: Promise.all([
      once(started, 'exit'),
      once(started.stdout!, 'close'),
      once(started.stderr!, 'close'),
    ]).catch((error) => (child.stderr = String(error))),
  };
  child.ended = child.ended.finally(() => (child.hasEnded = true));
  let rest = '';
  started.stderr!.setEncoding('utf8').on('data', (text: string) => {
    child.stderr = (child.stderr + text).slice(-4_000);
  });
  started.stdout!.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) observe(child, JSON.parse(line));
  });
  return child;
}

function observe(child: Child, event: DevloopEvent): void {
  const { events, cluster } = child;
  if (!NOT_TOLD.has(event.type)) events.push(event);
  // Nobody may ever ask for those of a session that runs for days.
  if (events.length > MOST_EVENTS) events.shift();
  if (event.type === 'session.started') cluster.context = event.context;
  if (event.type === 'note' && event.code === 'embedded.started') Object.assign(cluster, event.values);
  if (event.type !== 'session.ready') return;
  child.isReady = true;
  child.started.resolve();
}

function failureOf({ events, stderr }: Child): DevloopError {
  const found = events.findLast((event) => event.type === 'error');
  if (found === undefined)
    return new DevloopError('session.not-ready', `The session has ended. ${stderr}`.trim());
  events.splice(events.indexOf(found), 1);
  return reportedError(found);
}

function noneStarted(): DevloopError {
  return new DevloopError('session.not-found', 'This server has started no session.', {
    hint: 'A session that a person has started is ended in its terminal, with Ctrl-C.',
  });
}
