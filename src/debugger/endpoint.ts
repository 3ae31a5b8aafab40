import { createServer, type Server, type Socket } from 'node:net';
import { createWarner, pollUntil, sleep } from '../async.ts';
import { DevloopError } from '../errors.ts';
import { describeOwner, isOfThisUser } from '../machine/port.ts';
import { portOwner } from '../machine/system.ts';
import type { Emit } from '../report/events.ts';
import { letRun } from './delve.ts';
import { DapEditor, type Editor, RawEditor } from './editor.ts';
import { protocolOf } from './frames.ts';
import type { DelveClient } from './json-rpc.ts';

/** The delve of the controller that runs now. */
interface Served {
  port: number;
  delve: DelveClient;
  /** Editors are let in. */
  isOpen: boolean;
  /** An editor was connected, and may have left breakpoints. */
  isTouched: boolean;
}

/** How long an editor may take to come back, and to set its breakpoints then. */
const RETURN_MS = 2_000;
const CONFIGURE_MS = 10_000;
/** The first stop of a big program takes seconds, because delve reads its debug information then. */
const LET_RUN_MS = 15_000;
const POLL_MS = 20;
/** Connections of editors that still have not left then are of no use to anybody. */
const LAST_MS = 2_000;

/** The port on this machine that editors know: it stays the same while one delve follows another. */
export class DebugEndpoint implements AsyncDisposable {
  #server: Server;
  #emit: Emit;
  #warn: (message: string) => void;
  #editors = new Set<Editor>();
  /** Of those that have not said anything yet. */
  #silent = new Set<Socket>();
  #served: Served | undefined;
  /** Editors that were told to begin a new session. */
  #expected = 0;
  #isClosed = false;

  /** Throws 'port.in-use'. */
  static async listen(port: number, emit: Emit): Promise<DebugEndpoint> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' ? void inUse(port).then(reject) : reject(error),
      );
      server.listen({ host: '127.0.0.1', port, exclusive: true }, resolve);
    });
    return new DebugEndpoint(server, emit);
  }

  private constructor(server: Server, emit: Emit) {
    this.#server = server;
    this.#emit = emit;
    this.#warn = createWarner(emit);
    server.on('connection', (socket) => void this.#accept(socket));
  }

  /** An editor is connected to the controller. */
  get isUsed(): boolean {
    return this.#connected.length > 0;
  }

  /** From now on this is the delve of the controller that runs. Editors wait until they are let in. */
  serve(port: number, delve: DelveClient): void {
    this.#served = { port, delve, isOpen: false, isTouched: false };
  }

  /**
   * Ends the editors' sessions, because their controller is replaced, so that they begin new ones; lets the controller run without
   * breakpoints, so that it answers what it has and can end. Not `restart`: there will be no other. Never rejects.
   */
  async leave({ restart }: { restart: boolean }): Promise<void> {
    const left = this.#served;
    this.#served = undefined;
    for (const editor of this.#connected) {
      if (editor.returns && restart) this.#expected += 1;
      editor.end(restart);
    }
    if (left) await release(left);
  }

  /** Lets editors in, and resolves when those that are expected have set their breakpoints, or do not come. */
  async open(signal: AbortSignal): Promise<void> {
    if (this.#served === undefined) return;
    this.#served.isOpen = true;
    for (const editor of this.#editors) this.#connect(editor);
    const since = performance.now();
    const isSettled = async (): Promise<boolean> => {
      const waitedMs = performance.now() - since;
      const connected = this.#connected;
      if (connected.some(({ phase }) => phase === 'connected')) return waitedMs > CONFIGURE_MS;
      return connected.length >= this.#expected || waitedMs > RETURN_MS;
    };
    await pollUntil(isSettled, { everyMs: POLL_MS, limitMs: CONFIGURE_MS + RETURN_MS, signal });
    this.#expected = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#silent) socket.destroy();
    for (const editor of this.#editors) editor.end(false);
    await Promise.race([closed, sleep(LAST_MS)]);
  }

  get #connected(): Editor[] {
    return [...this.#editors].filter(({ phase }) => phase === 'connected' || phase === 'configured');
  }

  async #accept(socket: Socket): Promise<void> {
    socket.on('error', () => {});
    this.#silent.add(socket);
    // Before a byte is read: nothing shows whose it was when its sender is gone.
    if (!(await isOfThisUser(socket))) {
      this.#silent.delete(socket);
      if (!socket.destroyed) this.#warn(OTHER_USER);
      return void socket.destroy();
    }
    const first = await firstBytes(socket);
    this.#silent.delete(socket);
    const protocol = first && protocolOf(first);
    if (first === undefined || protocol === undefined || socket.destroyed || this.#isClosed) {
      if (first && protocol === undefined) this.#warn(NO_DEBUGGER);
      return void socket.destroy();
    }
    const events = {
      onConfigured: (): void => this.#emit({ type: 'debug.attached', editor: editor.name }),
      onError: (why: string): void => this.#warn(`The connection of an editor was closed: ${why}.`),
    };
    const editor = new (protocol === 'dap' ? DapEditor : RawEditor)(socket, first, events);
    this.#editors.add(editor);
    socket.on('close', () => this.#gone(editor));
    this.#connect(editor);
  }

  #connect(editor: Editor): void {
    if (!this.#served?.isOpen || editor.phase !== 'waiting') return;
    this.#served.isTouched = true;
    editor.connect(this.#served.port);
  }

  #gone(editor: Editor): void {
    this.#editors.delete(editor);
    if (this.#served === undefined || this.isUsed) return;
    void release(this.#served).then(
      (isReleased) => isReleased && this.#emit({ type: 'debug.left', editor: editor.name }),
    );
  }
}

/** Whether there was something to release, and that was possible. */
async function release(left: Served): Promise<boolean> {
  if (!left.isTouched) return false;
  left.isTouched = false;
  const running = letRun(left.delve).then(() => true);
  return await Promise.race([running, sleep(LET_RUN_MS).then(() => false)]).catch(() => false);
}

/** They say which protocol the client speaks. Undefined if it leaves without a word. */
function firstBytes(socket: Socket): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      resolve(chunk);
    });
    socket.once('close', () => resolve(undefined));
  });
}

const OTHER_USER = 'A program of another user tried to connect to the debugger; devloop refused it.';
const NO_DEBUGGER =
  'Something connected to the debugger that speaks neither the Debug Adapter Protocol nor that of delve; devloop refused it.';

async function inUse(port: number): Promise<DevloopError> {
  const message = `Editors would connect to port ${port}, which is in use by ${describeOwner(await portOwner(port))}.`;
  return new DevloopError('port.in-use', message, {
    hint: `Choose another port: devloop up --debug=${port + 1}`,
  });
}
