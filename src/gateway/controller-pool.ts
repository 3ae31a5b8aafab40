import { createSecureContext } from 'node:tls';
import { UNVERIFIED } from '../machine/loopback-tls.ts';
import { type ConnectionOptions, ControllerConnection, type Exchange } from './controller-connection.ts';

/**
 * The most connections for one server name. After a hold, all waiting reviews need a connection at once, and each handshake takes a
 * millisecond.
 */
const MOST = 256;

/** The connections to one controller. */
export interface ControllerPool {
  /**
   * Sends over an idle connection, or else over a new one. If there are too many connections, the exchange waits until one is idle.
   * `isNew`: always sends over a new connection.
   */
  send(serverName: string, exchange: Exchange, isNew: boolean): void;
  /**
   * Closes the connection of an exchange, which then ends as a failure. For an exchange that has not been sent yet, `onEnd` is never
   * called.
   */
  cancel(serverName: string, exchange: Exchange): void;
  close(): void;
}

export function createControllerPool(controller: { host: string; port: number }): ControllerPool {
  const secureContext = createSecureContext(UNVERIFIED);
  const named = new Map<string, OfOneName>();
  const poolOf = (serverName: string): OfOneName => {
    const known = named.get(serverName);
    if (known) return known;
    const pool = new OfOneName({ ...controller, serverName, secureContext }, () => named.delete(serverName));
    named.set(serverName, pool);
    return pool;
  };
  return {
    send: (serverName, exchange, isNew) => poolOf(serverName).send(exchange, isNew),
    cancel: (serverName, exchange) => named.get(serverName)?.cancel(exchange),
    close() {
      for (const pool of named.values()) pool.close();
    },
  };
}

type Target = Pick<ConnectionOptions, 'host' | 'port' | 'serverName' | 'secureContext'>;

class OfOneName {
  #to: Target;
  #onEmpty: () => void;
  #all = new Set<ControllerConnection>();
  /** The idle connections. The one that was used most recently is the last one, and is used first. */
  #idle: ControllerConnection[] = [];
  #waiting = new Set<Exchange>();
  #session: Buffer | undefined;

  constructor(to: Target, onEmpty: () => void) {
    this.#to = to;
    this.#onEmpty = onEmpty;
  }

  send(exchange: Exchange, isNew: boolean): void {
    const idle = isNew ? undefined : this.#idle.pop();
    if (idle === undefined && !isNew && this.#all.size >= MOST) this.#waiting.add(exchange);
    else (idle ?? this.#open()).start(exchange);
  }

  cancel(exchange: Exchange): void {
    this.#waiting.delete(exchange);
    for (const connection of this.#all) if (connection.carries(exchange)) connection.destroy();
  }

  close(): void {
    this.#waiting.clear();
    for (const connection of this.#all) connection.destroy();
  }

  #open(): ControllerConnection {
    const connection = new ControllerConnection({
      ...this.#to,
      session: this.#session,
      onSession: (session) => {
        this.#session = session;
      },
      onIdle: (idle) => {
        this.#idle.push(idle);
        this.#sendNext();
      },
      onClose: (closed) => {
        this.#all.delete(closed);
        this.#idle = this.#idle.filter((one) => one !== closed);
        this.#sendNext();
        if (this.#all.size === 0) this.#onEmpty();
      },
    });
    this.#all.add(connection);
    return connection;
  }

  #sendNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.send(next, false);
  }
}
