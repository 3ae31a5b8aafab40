import { once } from 'node:events';
import { WebSocket } from 'ws';

/** An editor that debugs a Node program, over the Chrome DevTools Protocol. */
export class InspectorClient implements Disposable {
  #socket: WebSocket;
  #last = 0;
  #paused: { line: number; function: string }[] = [];
  #wake = (): void => {};
  #answers = new Map<number, () => void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => this.#receive(JSON.parse(String(data))));
  }

  /** Attaches to the port that `--inspect` names. */
  static async attach(port: number): Promise<InspectorClient> {
    const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
      webSocketDebuggerUrl: string;
    }[];
    const socket = new WebSocket(target!.webSocketDebuggerUrl);
    await once(socket, 'open');
    const client = new InspectorClient(socket);
    await client.send('Debugger.enable');
    return client;
  }

  /** Lines count from 1, as in an editor. */
  async setBreakpoint(file: string, line: number): Promise<void> {
    await this.send('Debugger.setBreakpointByUrl', { lineNumber: line - 1, url: `file://${file}` });
  }

  /** The line and the function at which the program has stopped. */
  async stoppedAt(): Promise<{ line: number; function: string }> {
    while (this.#paused.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#paused.shift()!;
  }

  /** `Debugger.stepOver`, `Debugger.resume`, … */
  async send(method: string, params: object = {}): Promise<void> {
    const id = ++this.#last;
    const answered = new Promise<void>((resolve) => this.#answers.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    await answered;
  }

  #receive({ id, method, params }: { id?: number; method?: string; params?: Paused }): void {
    if (id !== undefined) this.#answers.get(id)?.();
    if (method !== 'Debugger.paused') return;
    const [frame] = params!.callFrames;
    this.#paused.push({ line: frame!.location.lineNumber + 1, function: frame!.functionName });
    this.#wake();
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}

interface Paused {
  callFrames: { functionName: string; location: { lineNumber: number } }[];
}
