import type { Duplex } from 'node:stream';
import { isToken, newToken } from '../machine/token.ts';
import type { Refusal } from './answers.ts';
import type { ServedCall } from './observed.ts';
import type { ApiProxyParts } from './pass-on.ts';

const OVER: Refusal = {
  ...{ code: 503, reason: 'ServiceUnavailable' },
  message:
    'devloop: this start of the controller has ended, so what it left behind no longer reaches the API server',
};

/** What a process had sent when it ended arrives within this time. */
const LAST_SENT_MS = 1_000;

/** Lets programs call the API server by a token of their own, until it is ended. */
export class Admission {
  readonly token = newToken();
  readonly parts: ApiProxyParts;
  #authorization = `Bearer ${this.token}`;
  #connections = new Set<Duplex>();
  #endedAt: number | undefined;

  constructor(parts: ApiProxyParts, served: (call: ServedCall) => void = () => {}) {
    const { hooks, crash } = parts;
    const both = hooks && {
      ...hooks,
      served(call: ServedCall): void {
        hooks.served(call);
        served(call);
      },
    };
    const crashed = (rule: string): void => {
      // What the process has sent besides does not arrive.
      this.end();
      crash?.(rule);
    };
    this.parts = { ...parts, hooks: both, ...(crash && { crash: crashed }) };
  }

  admits(authorization: string): boolean {
    return isToken(authorization, this.#authorization);
  }

  /** What a call gets in place of the API server's answer; undefined if it may pass. */
  refusal(): Refusal | undefined {
    if (this.#endedAt === undefined) return undefined;
    if (performance.now() - this.#endedAt > LAST_SENT_MS) this.parts.leftBehind?.();
    return OVER;
  }

  /** Connections on which something was admitted end with the admission. */
  follow(connection: Duplex): void {
    if (this.#connections.has(connection)) return;
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
  }

  cut(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  /**
   * From now on, nothing passes. What is under way is cut, reads too: a watch is of use to nobody then, and no write can hide in a
   * connection that goes on.
   */
  end(): void {
    this.#endedAt = performance.now();
    this.cut();
  }
}
