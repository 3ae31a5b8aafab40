import { createServer, type Server, type Socket } from 'node:net';
import { createWarner, pollUntil, sleep, type Warning } from '../async.ts';
import { DevloopError } from '../errors.ts';
import { describeOwner, isOfThisUser, listenOn } from '../machine/port.ts';
import { portOwner } from '../machine/system.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { letRun } from './delve.ts';
import { DapEditor, type Editor, RawEditor } from './editor.ts';
import { protocolOf } from './frames.ts';
import type { DelveClient } from './json-rpc.ts';

/** The delve that runs the current controller. */
interface Served {
  port: number;
  delve: DelveClient;
  /** Whether editors are connected to it. Until then they wait. */
  isOpen: boolean;
  /** Whether an editor was connected, which may have left breakpoints. */
  isTouched: boolean;
}

/** How long an editor gets to come back, and then to set its breakpoints. */
const RETURN_MS = 2_000;
const CONFIGURE_MS = 10_000;
/** The first stop of a big program takes seconds, because delve reads its debug information then. */
const LET_RUN_MS = 15_000;
const POLL_MS = 20;
/** How long the disposal waits for editors to disconnect. Nobody needs a connection that is still open after that. */
const LAST_MS = 2_000;

/** The port on this machine to which editors connect: it stays the same when one delve replaces another. */
export class DebugEndpoint implements AsyncDisposable {
  #server: Server;
  #emit: Emit;
  #warn: (warning: Warning) => void;
  #editors = new Set<Editor>();
  /** Connections that have not sent anything yet. */
  #silent = new Set<Socket>();
  #served: Served | undefined;
  /** How many editors devloop has asked to begin a new session. */
  #expected = 0;
  #isClosed = false;

  /** Listens on this port. Throws 'port.in-use' if another program uses it. */
  static async listen(port: number, emit: Emit): Promise<DebugEndpoint> {
    const server = createServer();
    await listenOn(server, { host: '127.0.0.1', port, exclusive: true }).catch(
      async (error: NodeJS.ErrnoException) => {
        throw error.code === 'EADDRINUSE' ? await inUse(port) : error;
      },
    );
    return new DebugEndpoint(server, emit);
  }

  private constructor(server: Server, emit: Emit) {
    this.#server = server;
    this.#emit = emit;
    this.#warn = createWarner(emit);
    server.on('connection', (socket) => void this.#accept(socket));
  }

  /** Whether an editor is connected to the controller. */
  get isUsed(): boolean {
    return this.#connected.length > 0;
  }

  /** Makes this delve the current one. Editors wait until `open` connects them. */
  serve(port: number, delve: DelveClient): void {
    this.#served = { port, delve, isOpen: false, isTouched: false };
  }

  /**
   * Ends the editors' sessions, because their controller is being replaced; with `restart`, the editors begin new ones. Lets the old
   * controller run without breakpoints, so that it can answer its reviews and exit. Without `restart`, no other controller follows. Never
   * rejects.
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

  /** Connects the waiting editors to delve. Resolves when the expected ones have set their breakpoints, or when their time is up. */
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
    // This is checked before a byte is read: once the sender is gone, nothing shows whose connection it was.
    if (!(await isOfThisUser(socket))) {
      this.#silent.delete(socket);
      if (!socket.destroyed) this.#warn(notice('debugger.other-user', {}));
      return void socket.destroy();
    }
    const first = await firstBytes(socket);
    this.#silent.delete(socket);
    const protocol = first && protocolOf(first);
    if (first === undefined || protocol === undefined || socket.destroyed || this.#isClosed) {
      if (first && protocol === undefined) this.#warn(notice('debugger.unknown-protocol', {}));
      return void socket.destroy();
    }
    const events = {
      onConfigured: (): void => this.#emit({ type: 'debug.attached', editor: editor.name }),
      onError: (cause: string): void => this.#warn(notice('debugger.editor-closed', { cause })),
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

/** Lets the controller run if an editor was connected. Resolves to true if that was necessary and worked. */
async function release(left: Served): Promise<boolean> {
  if (!left.isTouched) return false;
  left.isTouched = false;
  const running = letRun(left.delve).then(() => true);
  return await Promise.race([running, sleep(LET_RUN_MS).then(() => false)]).catch(() => false);
}

/** The client's first bytes, which show its protocol; undefined if the client disconnects without sending any. */
function firstBytes(socket: Socket): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      resolve(chunk);
    });
    socket.once('close', () => resolve(undefined));
  });
}

async function inUse(port: number): Promise<DevloopError> {
  const message = `The debugger needs port ${port}, which is in use by ${describeOwner(await portOwner(port))}.`;
  return new DevloopError('port.in-use', message, {
    hint: `Choose another port: devloop up --debug=${port + 1}`,
  });
}
