import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DevloopError, messageOf } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import type { Explanation, Route } from '../route.ts';
import { redialDelay } from './back-off.ts';
import { carryToGateways } from './carry.ts';
import { type Dial, keepConnected } from './dial.ts';
import { type ByeReason, TOKEN_BYTES } from './frames.ts';
import { Health } from './health.ts';
import { identity, type RelayKeys } from './keys.ts';
import { ResumableStream } from './resumable.ts';

/** The first connection has to stand after so long, in ms. Later ones are dialled for as long as the route lives. */
const FIRST_LIMIT = 20_000;

export interface RelayOptions {
  /** The relay Pod; another one after it was replaced. */
  readonly pod: { namespace: string; name: string };
  /** Labels of the Pod, for the Service. */
  pods: Record<string, string>;
  /** Port of a gateway on 127.0.0.1 here -> port in the Pod. */
  ports: Map<number, number>;
  /** One new port-forward to the control port. Rejects with a DevloopError whose message is the cause. */
  dial: Dial;
  keys: RelayKeys;
  emit: Emit;
  /** Ends the opening; later, what would be told or begun anew. What stands then stands until the route is disposed. */
  signal: AbortSignal;
}

/** The route over a relay Pod that runs our program. Resolves when the Pod listens for the Service and carries here. */
export async function relayRoute(options: RelayOptions): Promise<Route> {
  const relay = new Relay(options);
  try {
    await relay.first();
  } catch (error) {
    await relay.end();
    throw error;
  }
  return {
    name: 'relay',
    get via() {
      return podOf(options);
    },
    target: { pods: options.pods },
    portFor: (gatewayPort) => {
      const port = options.ports.get(gatewayPort);
      if (port === undefined) throw new Error(`the relay does not carry to port ${gatewayPort}`);
      return port;
    },
    onReconnected: (listener) => void relay.onReconnected.push(listener),
    explain: async () => relay.explanation(),
    [Symbol.asyncDispose]: () => relay.end(),
  };
}

class Relay {
  readonly onReconnected: (() => void)[] = [];
  #options: RelayOptions;
  #stop = new AbortController();
  #health: Health;
  #firstStand = Promise.withResolvers<void>();
  /** The program listens for the Service, or did before the connection broke. */
  #serves = false;
  #stoodBefore = false;
  /** What went wrong last, while the route does not stand. */
  #failure: unknown;
  #run: Promise<void>;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#health = new Health(
      () => podOf(options),
      (event) => this.#leaving || options.emit(event),
      () => this.#mended(),
    );
    this.#run = this.#sessions(this.#stop.signal);
  }

  /** Waits until the route stands for the first time. */
  async first(): Promise<void> {
    const { signal } = this.#options;
    const gaveUp = Promise.withResolvers<never>();
    const aborted = (): void => gaveUp.reject(signal.reason);
    const timer = setTimeout(() => gaveUp.reject(this.#failed()), FIRST_LIMIT);
    signal.addEventListener('abort', aborted);
    try {
      signal.throwIfAborted();
      await Promise.race([this.#firstStand.promise, gaveUp.promise]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
    }
  }

  explanation(): Explanation | undefined {
    if (this.#failure === undefined) return undefined;
    const cause = `${podOf(this.#options)} is not connected: ${messageOf(this.#failure)}`;
    return { cause, hint: this.#cure() };
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#run;
    this.#health.dispose();
  }

  /** Who ends the session does not want to hear that its relay goes, but the last reviews still have to get through. */
  get #leaving(): boolean {
    return this.#options.signal.aborted || this.#stop.signal.aborted;
  }

  /** One session after the other: a program that was replaced knows nothing of the one before. */
  async #sessions(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const ended = await this.#session(signal);
      failures = this.#serves ? 0 : failures + 1;
      this.#serves = false;
      if (this.#leaving) return;
      this.#lost(
        ended === 'replaced'
          ? 'another client took the relay over'
          : 'the relay program was replaced or ended',
      );
      if (ended === 'replaced') return;
      await sleep(redialDelay(failures + 1, Math.random()), undefined, { signal }).catch(() => {});
    }
  }

  /** From the first dial until the stream is over; says how the other end ended it, if it did. */
  async #session(signal: AbortSignal): Promise<ByeReason | undefined> {
    const { dial, keys, ports } = this.#options;
    const stream = new ResumableStream(randomBytes(TOKEN_BYTES));
    const leave = (): void => stream.leave('ended');
    signal.addEventListener('abort', leave, { once: true });
    const watch = {
      onAttached: () => this.#stands(),
      onCut: (cause: string) => this.#broken(new Error(cause)),
      onFailed: (error: unknown) => this.#broken(error),
    };
    const way = { dial, identity: identity(keys.client.private, keys.program.public) };
    const over = keepConnected(stream, way, watch, signal);
    try {
      await carryToGateways(stream, ports);
      this.#serves = true;
      if (stream.attached) this.#stands();
    } catch (error) {
      this.#failure ??= error;
      stream.leave('ended');
    }
    await over;
    signal.removeEventListener('abort', leave);
    return stream.ended;
  }

  #stands(): void {
    if (!this.#serves) return;
    this.#failure = undefined;
    this.#stoodBefore = true;
    this.#health.standing();
    this.#firstStand.resolve();
  }

  #mended(): void {
    if (this.#leaving) return;
    for (const listener of this.onReconnected) listener();
  }

  #broken(error: unknown): void {
    this.#failure = error;
    if (this.#stoodBefore) this.#health.broken(messageOf(error));
  }

  #lost(cause: string): void {
    this.#failure ??= new Error(cause);
    if (this.#stoodBefore) this.#health.lost(cause);
  }

  #failed(): DevloopError {
    const cause = this.#failure === undefined ? 'it does not answer' : messageOf(this.#failure);
    return new DevloopError(
      'relay.failed',
      `${podOf(this.#options)} cannot carry connections here: ${cause}`,
      {
        hint: this.#cure(),
        cause: this.#failure,
      },
    );
  }

  #cure(): string {
    if (this.#failure instanceof DevloopError && this.#failure.hint !== undefined) return this.#failure.hint;
    const { namespace, name } = this.#options.pod;
    return `What the relay says: kubectl logs --namespace ${namespace} ${name}`;
  }
}

function podOf({ pod: { namespace, name } }: RelayOptions): string {
  return `Pod ${namespace}/${name}`;
}
