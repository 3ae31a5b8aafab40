import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { framed, MessageReader } from '../../src/debugger/frames.ts';
import { cached } from '../cluster/cache.ts';
import { run } from '../cluster/run.ts';

const VERSION = 'v1.27.2';

/** The debugger for Go, which is built unless an earlier run has built it. */
export async function delve(log: (line: string) => void = () => {}): Promise<string> {
  const directory = await cached('delve', VERSION, async (part) => {
    log(`building delve ${VERSION}`);
    await run('go', ['install', `github.com/go-delve/delve/cmd/dlv@${VERSION}`], {
      env: { GOBIN: part, CGO_ENABLED: '0' },
    });
  });
  return join(directory, 'dlv');
}

interface Message {
  seq: number;
  type: string;
  command?: string;
  event?: string;
  request_seq?: number;
  success?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: whatever delve answers
  body?: any;
}

/** A debugged program runs slowly on a busy machine. */
const LIMIT_MS = 60_000;

/** An editor, as it looks to devloop. */
export class DapClient implements Disposable {
  readonly messages: Message[] = [];
  readonly closed: Promise<void>;
  #socket: Socket;
  #frameId = 0;
  #listeners = new Set<() => void>();
  #used = new Set<Message>();
  #seq = 0;
  #threadId = 0;

  constructor(port: number) {
    this.#socket = connect({ host: '127.0.0.1', port });
    const reader = new MessageReader();
    this.#socket.on('error', () => {});
    this.#socket.on('data', (chunk) => {
      this.messages.push(...reader.read(chunk).map((text) => JSON.parse(text) as Message));
      this.#notify();
    });
    this.closed = new Promise((resolve) => this.#socket.on('close', () => resolve()));
    void this.closed.then(() => this.#notify());
  }

  /** Attaches, and sets breakpoints at these lines of a file, as an editor does. */
  async begin(file: string, lines: number[], more: object = {}): Promise<void> {
    await this.ask('initialize', { clientName: 'the test', adapterID: 'go' });
    const attached = this.ask('attach', { mode: 'remote', ...more });
    await this.event('initialized');
    const breakpoints = lines.map((line) => ({ line }));
    await this.ask('setBreakpoints', { source: { path: file }, breakpoints });
    await this.ask('configurationDone');
    // debugpy answers the attach request only now.
    await attached;
  }

  /** The body of the answer; rejects if the answer is a failure. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever delve answers
  async ask(command: string, args: object = {}): Promise<any> {
    this.#seq += 1;
    const seq = this.#seq;
    const message = { seq, type: 'request', command, arguments: args };
    this.#socket.write(framed(JSON.stringify(message)));
    const answer = await this.#wait((one) => one.request_seq === seq, command);
    if (!answer.success) throw new Error(`${command} failed: ${JSON.stringify(answer)}`);
    return answer.body;
  }

  /** The body of the next event with this name. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever delve answers
  async event(name: string): Promise<any> {
    return (await this.#wait((one) => one.event === name, name)).body;
  }

  /** The line at which the controller stopped. */
  async stoppedAt(): Promise<number> {
    const { threadId } = await this.event('stopped');
    this.#threadId = threadId;
    const { stackFrames } = await this.ask('stackTrace', { threadId, levels: 1 });
    this.#frameId = stackFrames[0].id;
    return stackFrames[0].line;
  }

  /** The variables of the function in which the controller stopped: name -> value, as an editor shows them. */
  async locals(): Promise<Record<string, string>> {
    const { scopes } = await this.ask('scopes', { frameId: this.#frameId });
    const { variables } = await this.ask('variables', {
      variablesReference: scopes[0].variablesReference,
    });
    return Object.fromEntries(
      variables.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
  }

  /** Lets the stopped program take a step, or continue. */
  async go(command: 'next' | 'continue'): Promise<void> {
    await this.ask(command, { threadId: this.#threadId });
  }

  write(text: string): void {
    this.#socket.write(text);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #wait(fits: (message: Message) => boolean, what: string): Promise<Message> {
    return new Promise((resolve, reject) => {
      const fail = (why: string): void => {
        done();
        reject(new Error(`${why} before ${what}; seen: ${JSON.stringify(this.messages)}`));
      };
      const look = (): void => {
        const found = this.messages.find((one) => !this.#used.has(one) && fits(one));
        if (found === undefined) {
          if (this.#socket.closed) fail('the connection was closed');
          return;
        }
        this.#used.add(found);
        done();
        resolve(found);
      };
      const timer = setTimeout(() => fail('the time was over'), LIMIT_MS);
      const done = (): void => {
        clearTimeout(timer);
        this.#listeners.delete(look);
      };
      this.#listeners.add(look);
      look();
    });
  }
}
