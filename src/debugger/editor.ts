import { connect, type Socket } from 'node:net';
import { messageOf } from '../errors.ts';
import { framed, MessageReader } from './frames.ts';
import { DELVE_HOST } from './json-rpc.ts';
import { answerAfterEnd, type Message, parseMessage, terminated, toDelve, toEditor } from './messages.ts';

/** A client of the debugger: an editor, or `dlv connect`. */
export interface Editor {
  /** The client's own name, or its protocol. */
  readonly name: string;
  /** Whether it begins a new session at once when devloop ends this one. */
  readonly returns: boolean;
  /**
   * waiting: the editor and its messages wait for delve; configured: it has set its breakpoints; ended: its connection is about to close.
   */
  readonly phase: Phase;
  /** Connects a waiting editor to delve. */
  connect(port: number): void;
  /** Ends the editor's session. `restart`: asks the editor to begin a new one. */
  end(restart: boolean): void;
}

type Phase = 'waiting' | 'connected' | 'configured' | 'ended';

export interface EditorEvents {
  onConfigured(): void;
  /** Called when the editor sends something other than its protocol. */
  onError(why: string): void;
}

/** How many characters of messages can wait for delve. That is plenty, because an editor that waits sends only one request at a time. */
const MOST_WAITING = 2 ** 20;
/**
 * An editor whose session has ended closes its connection itself, within this time. When the session of devloop ends, it gets less time.
 */
const LEAVE_MS = 10_000;
const LAST_LEAVE_MS = 1_000;

/** A client that speaks the Debug Adapter Protocol. */
export class DapEditor implements Editor {
  name = 'an editor';
  phase: Phase = 'waiting';
  #socket: Socket;
  #events: EditorEvents;
  #delve: Socket | undefined;
  #waiting: string[] = [];
  #waitingSize = 0;
  /** Whether the editor has asked to disconnect. */
  #isLeaving = false;
  #hasTerminated = false;
  /** The sequence number of the last message that the editor got. */
  #seq = 0;
  #fail: (error: unknown) => void;

  /** `first`: the bytes that the editor has already sent. */
  constructor(socket: Socket, first: Buffer, events: EditorEvents) {
    this.#socket = socket;
    this.#events = events;
    this.#fail = (error) => {
      events.onError(messageOf(error));
      socket.destroy();
    };
    readMessages(socket, (text) => this.#fromEditor(text), this.#fail)(first);
    socket.on('close', () => this.#delve?.destroy());
    socket.resume();
  }

  get returns(): boolean {
    return !this.#isLeaving;
  }

  connect(port: number): void {
    this.phase = 'connected';
    const delve = connect({ host: DELVE_HOST, port });
    this.#delve = delve;
    delve.on('error', () => {});
    delve.on('close', () => this.end(true));
    readMessages(
      delve,
      (text) => this.#fromDelve(text),
      () => delve.destroy(),
    );
    const texts = this.#waiting;
    this.#waiting = [];
    try {
      for (const text of texts) this.#fromEditor(text);
    } catch (error) {
      this.#fail(error);
    }
  }

  end(restart: boolean): void {
    if (this.phase === 'ended') return;
    this.phase = 'ended';
    if (!this.#hasTerminated && !this.#isLeaving) send(this.#socket, terminated(++this.#seq, restart));
    this.#delve?.destroy();
    if (this.#isLeaving) this.#socket.end();
    setTimeout(() => this.#socket.destroy(), restart ? LEAVE_MS : LAST_LEAVE_MS).unref();
  }

  #fromEditor(text: string): void {
    const message = parseMessage(text);
    if (message.command === 'initialize') this.name = message.arguments?.clientName ?? this.name;
    if (message.command === 'disconnect') this.#isLeaving = true;
    if (this.phase === 'ended') this.#answer(message);
    else if (this.#delve === undefined) this.#wait(text);
    else this.#forward(message, this.#delve);
  }

  #forward(message: Message, delve: Socket): void {
    send(delve, toDelve(message));
    if (message.command !== 'configurationDone') return;
    this.phase = 'configured';
    this.#events.onConfigured();
  }

  #answer(message: Message): void {
    send(this.#socket, answerAfterEnd(message, ++this.#seq));
    if (message.command === 'disconnect') this.#socket.end();
  }

  #wait(text: string): void {
    this.#waiting.push(text);
    this.#waitingSize += text.length;
    if (this.#waitingSize > MOST_WAITING)
      throw new Error('it sent too much before the controller was running');
  }

  #fromDelve(text: string): void {
    const message = parseMessage(text);
    this.#seq = Math.max(this.#seq, message.seq);
    if (message.event === 'terminated') this.#hasTerminated = true;
    send(this.#socket, toEditor(message, this.#isLeaving));
  }
}

function send(to: Socket, message: Message): void {
  if (to.writable) to.write(framed(JSON.stringify(message)));
}

/** Calls `handle` with each message, and `fail` with an error if the bytes are not valid. Returns the function that reads more bytes. */
function readMessages(
  socket: Socket,
  handle: (text: string) => void,
  fail: (error: unknown) => void,
): (chunk: Buffer) => void {
  const reader = new MessageReader();
  const read = (chunk: Buffer): void => {
    try {
      for (const text of reader.read(chunk)) handle(text);
    } catch (error) {
      fail(error);
    }
  };
  socket.on('data', read);
  return read;
}

/**
 * A client that speaks delve's own protocol (GoLand, `dlv connect`). That protocol cannot ask for a new session, so devloop passes its
 * bytes on unchanged.
 */
export class RawEditor implements Editor {
  readonly name = "a client of delve's own protocol";
  readonly returns = false;
  phase: Phase = 'waiting';
  #socket: Socket;
  #first: Buffer;
  #events: EditorEvents;

  constructor(socket: Socket, first: Buffer, events: EditorEvents) {
    this.#socket = socket;
    this.#first = first;
    this.#events = events;
  }

  connect(port: number): void {
    this.phase = 'configured';
    const socket = this.#socket;
    const delve = connect({ host: DELVE_HOST, port });
    delve.on('error', () => {});
    delve.on('close', () => socket.destroy());
    socket.on('close', () => delve.destroy());
    delve.write(this.#first);
    socket.pipe(delve).pipe(socket);
    this.#events.onConfigured();
  }

  end(): void {
    this.phase = 'ended';
    this.#socket.destroy();
  }
}
