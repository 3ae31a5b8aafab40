import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { sleep } from '../../async.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import type { Explanation, Route } from '../route.ts';
import { type Dial, keepConnected, redialPauseMs } from './dial.ts';
import { Outage } from './outage.ts';
import { Channels } from './wire/channels.ts';
import { type ByeReason, TOKEN_BYTES } from './wire/frames.ts';
import { join } from './wire/join.ts';
import { identity, type RelayKeys } from './wire/keys.ts';
import { ResumableStream } from './wire/resumable.ts';

/** The time limit for the first connection. Later ones are dialled for as long as the route is open. */
const FIRST_LIMIT_MS = 20_000;

export interface RelayOptions {
  /** The relay Pod; after a replacement, the new one. */
  readonly pod: { namespace: string; name: string };
  /** Labels of the Pod, which the Service selects. */
  pods: Record<string, string>;
  /** For each port of a gateway on 127.0.0.1, the port in the Pod. */
  ports: Map<number, number>;
  /**
   * Connects to the relay program, through the API server's proxy or a port-forward. Rejects with a DevloopError whose message is the
   * cause.
   */
  dial: Dial;
  /** Called each time both ends have proved their identity over a new connection. */
  onProved?: () => void;
  keys: RelayKeys;
  emit: Emit;
  /**
   * Interrupts the opening. If it aborts later, the route emits no more events and starts no new stream, but keeps the current
   * stream connected until it is disposed.
   */
  signal: AbortSignal;
}

/** The route through a relay Pod. Resolves when the Pod listens on the ports of the Service, connected to the gateways. */
export async function relayRoute(options: RelayOptions): Promise<Route> {
  const relay = new Relay(options);
  try {
    await relay.opened();
  } catch (error) {
    await relay.close();
    throw error;
  }
  return {
    name: 'relay',
    get via() {
      return nameOf(options.pod);
    },
    target: { pods: options.pods },
    portFor: (gatewayPort) => {
      const port = options.ports.get(gatewayPort);
      if (port === undefined) throw new Error(`the relay has no port for gateway port ${gatewayPort}`);
      return port;
    },
    onReconnected: (listener) => void relay.onReconnected.push(listener),
    explain: async () => relay.explanation(),
    [Symbol.asyncDispose]: () => relay.close(),
  };
}

class Relay {
  readonly onReconnected: (() => void)[] = [];
  #options: RelayOptions;
  #closing = new AbortController();
  #outage: Outage;
  #opened = Promise.withResolvers<void>();
  #wasOpened = false;
  /** Whether the program listens on the ports of the Service in the current stream. */
  #listens = false;
  /** The latest failure; undefined while the route is connected. */
  #failure: unknown;
  #run: Promise<void>;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#outage = new Outage(
      () => nameOf(options.pod),
      (event) => this.#leaving || options.emit(event),
      () => this.#reconnected(),
    );
    this.#run = this.#keepStream(this.#closing.signal);
  }

  /** Waits for the first connection. */
  async opened(): Promise<void> {
    const { signal } = this.#options;
    const gaveUp = Promise.withResolvers<never>();
    const aborted = (): void => gaveUp.reject(signal.reason);
    const timer = setTimeout(() => gaveUp.reject(this.#notOpened()), FIRST_LIMIT_MS);
    signal.addEventListener('abort', aborted);
    try {
      signal.throwIfAborted();
      await Promise.race([this.#opened.promise, gaveUp.promise]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
    }
  }

  explanation(): Explanation | undefined {
    if (this.#failure === undefined) return undefined;
    const cause = `${nameOf(this.#options.pod)} is not connected: ${messageOf(this.#failure)}`;
    return { cause, hint: this.#hint() };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#run;
    this.#outage.dispose();
  }

  /** Whether the session is ending. The loss of the relay is then not reported, but the last reviews still have to pass. */
  get #leaving(): boolean {
    return this.#options.signal.aborted || this.#closing.signal.aborted;
  }

  /** Starts one stream after the other, since a program that replaces another one does not know the earlier stream. */
  async #keepStream(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const reason = await this.#runStream(signal);
      failures = this.#listens ? 0 : failures + 1;
      this.#listens = false;
      if (this.#leaving) return;
      this.#lost(
        reason === 'replaced'
          ? 'another client has taken over the relay'
          : 'the relay program ended or was replaced',
      );
      if (reason === 'replaced') return;
      await sleep(redialPauseMs(failures + 1), signal);
    }
  }

  /** Runs a stream from its first dial to its end; resolves with the program's reason, if the program ended it. */
  async #runStream(signal: AbortSignal): Promise<ByeReason | undefined> {
    const { dial, onProved = () => {}, keys, ports } = this.#options;
    const stream = new ResumableStream(randomBytes(TOKEN_BYTES));
    const end = (): void => stream.end('ended');
    signal.addEventListener('abort', end, { once: true });
    const events = {
      onAttached: () => this.#connected(),
      onCut: (cause: string) => this.#cut(new Error(cause)),
      onFailed: (error: unknown) => this.#cut(error),
    };
    const access = { dial, onProved, identity: identity(keys.client.private, keys.program.public) };
    const over = keepConnected(stream, access, events, signal);
    try {
      await carryToGateways(stream, ports);
      this.#listens = true;
      if (stream.attached) this.#connected();
    } catch (error) {
      this.#failure ??= error;
      stream.end('ended');
    }
    await over;
    signal.removeEventListener('abort', end);
    return stream.peerReason;
  }

  #connected(): void {
    if (!this.#listens) return;
    this.#failure = undefined;
    this.#wasOpened = true;
    this.#outage.over();
    this.#opened.resolve();
  }

  #reconnected(): void {
    if (this.#leaving) return;
    for (const listener of this.onReconnected) listener();
  }

  #cut(error: unknown): void {
    this.#failure = error;
    if (this.#wasOpened) this.#outage.cut(messageOf(error));
  }

  #lost(cause: string): void {
    this.#failure ??= new Error(cause);
    if (this.#wasOpened) this.#outage.lost(cause);
  }

  #notOpened(): DevloopError {
    const { pod } = this.#options;
    const cause = this.#failure === undefined ? 'no answer' : messageOf(this.#failure);
    return new DevloopError('relay.failed', `${nameOf(pod)} cannot be connected to this machine: ${cause}`, {
      hint: this.#hint(),
      cause: this.#failure,
    });
  }

  #hint(): string {
    if (this.#failure instanceof DevloopError && this.#failure.hint !== undefined) return this.#failure.hint;
    const { namespace, name } = this.#options.pod;
    return `See the log of the relay: kubectl logs --namespace ${shellWord(namespace)} ${shellWord(name)}`;
  }
}

function nameOf({ namespace, name }: RelayOptions['pod']): string {
  return `Pod ${namespace}/${name}`;
}

const LOCALHOST = '127.0.0.1';

/**
 * Connects each channel of the stream to its gateway on this machine. `ports` maps gateway ports to ports of the Pod. Resolves when the
 * program listens on all of them; rejects if the program cannot listen, or ends before it does.
 */
export async function carryToGateways(stream: ResumableStream, ports: Map<number, number>): Promise<void> {
  const gatewayPorts = new Map([...ports].map(([gateway, pod]) => [pod, gateway]));
  const awaited = new Set(gatewayPorts.keys());
  await new Promise<void>((resolve, reject) => {
    const ended = (): void => reject(new Error('the relay program ended the session'));
    stream.over.addEventListener('abort', ended);
    if (stream.over.aborted) ended();
    new Channels(stream, {
      onOpen(channel, pod) {
        const port = gatewayPorts.get(pod);
        if (port === undefined) return channel.reset();
        join(connect({ host: LOCALHOST, port, allowHalfOpen: true, noDelay: true }), channel);
      },
      onPort(port, failure) {
        awaited.delete(port);
        if (failure !== undefined) {
          reject(new Error(`the relay program cannot listen on port ${port}: ${failure}`));
        } else if (awaited.size === 0) resolve();
      },
    });
  });
}
