import { connect, type SecureContext, type TLSSocket } from 'node:tls';
import { isOfAnotherUser } from '../machine/port.ts';
import { AnswerParser, type ParsedAnswer } from './answer-parser.ts';
import type { Answer } from './http.ts';

/** One review on its way to the controller. */
export interface Exchange {
  /** The whole HTTP request. */
  bytes: Buffer;
  /** Called when the TLS connection is up. After this call, the controller may see the review. */
  onConnected(): void;
  /** Called with the length of each part of the answer's body, in bytes. */
  onArriving(bytes: number): void;
  /** Called exactly once, after all other callbacks. */
  onEnd(result: Answer | Failure): void;
}

/** How one attempt to get an answer from the controller failed. */
export interface Failure {
  code: string | undefined;
  message: string;
  /** Whether the TLS connection was up, so that the controller may have seen the review. */
  connected: boolean;
  /** Whether the connection came from the pool, so that it may have ended before the review was sent. */
  reused: boolean;
}

export interface ConnectionOptions {
  host: string;
  port: number;
  /** The server name for the handshake; if empty, none is sent. */
  serverName: string;
  secureContext: SecureContext;
  /** The TLS session of an earlier connection, which makes this handshake shorter. */
  session: Buffer | undefined;
  onSession(session: Buffer): void;
  /** Called when the connection can carry another review. */
  onIdle(connection: ControllerConnection): void;
  /** Called once, when the connection has closed. */
  onClose(connection: ControllerConnection): void;
}

/** A TLS connection to the controller, which carries one review at a time. */
export class ControllerConnection {
  #options: ConnectionOptions;
  #socket: TLSSocket;
  /**
   * Whether devloop has checked that the listening program is not another user's. Until then, the connection carries no byte of a review.
   */
  #isKnown = false;
  #isReused = false;
  #exchange: Exchange | undefined;
  #parser: AnswerParser | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { host, port, serverName, secureContext, session } = options;
    this.#socket = connect({
      ...{ host, port, servername: serverName, noDelay: true, ALPNProtocols: ['http/1.1'] },
      ...(session && { session }),
      ...{ secureContext, rejectUnauthorized: false },
    });
    this.#socket
      .on('session', options.onSession)
      .on('secureConnect', () => void this.#identify())
      .on('data', (part: Buffer) => this.#read(part))
      .on('end', () => this.#complete(this.#exchange && this.#parser?.end()))
      .on('error', ({ code, message }: NodeJS.ErrnoException) => this.#fail(code, message))
      .on('close', () => {
        // An incomplete answer counts as no answer, since no part of it has been passed to the client.
        this.#fail('ECONNRESET', 'the connection closed');
        options.onClose(this);
      });
  }

  /** Sends a review. The connection must be idle or new. */
  start(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#parser = new AnswerParser(exchange.onArriving);
    if (this.#isKnown) this.#send(exchange);
  }

  carries(exchange: Exchange): boolean {
    return this.#exchange === exchange;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  async #identify(): Promise<void> {
    if (await isOfAnotherUser(this.#socket)) {
      this.#socket.destroy(new Error('another user of this machine listens there'));
      return;
    }
    this.#isKnown = true;
    if (this.#exchange) this.#send(this.#exchange);
  }

  #send(exchange: Exchange): void {
    exchange.onConnected();
    this.#socket.write(exchange.bytes);
  }

  #read(part: Buffer): void {
    if (this.#exchange === undefined) {
      // These bytes belong to no request.
      this.destroy();
      return;
    }
    try {
      this.#complete(this.#parser?.push(part));
    } catch (error) {
      this.#fail(undefined, (error as Error).message);
      this.destroy();
    }
  }

  #complete(parsed: ParsedAnswer | undefined): void {
    if (parsed === undefined) return;
    const exchange = this.#exchange!;
    this.#exchange = undefined;
    // An answer can come before the controller has read all of its review.
    if (parsed.keepsAlive && this.#socket.writableLength === 0 && this.#socket.writable) {
      this.#isReused = true;
      this.#options.onIdle(this);
    } else this.destroy();
    exchange.onEnd(parsed.answer);
  }

  #fail(code: string | undefined, message: string): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.onEnd({ code, message, connected: this.#isKnown, reused: this.#isReused });
  }
}
