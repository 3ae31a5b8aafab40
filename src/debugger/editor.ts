import { connect, type Socket } from 'node:net';
import { messageOf } from '../errors.ts';
import { framed, MessageReader } from './frames.ts';
import { DELVE_HOST } from './json-rpc.ts';
import { answerAfterEnd, type Message, parseMessage, terminated, toDelve, toEditor } from './messages.ts';

/** A client of the debugger: an editor, or `dlv connect`. */
export interface Editor {
  /** Its own name, or its protocol. */
  readonly name: string;
  /** Whether it begins a new session at once when devloop ends this one. */
  readonly returns: boolean;
  /** waiting: for delve, as its messages do; configured: it has set its breakpoints; ended: its connection is about to close. */
  readonly phase: Phase;
  /** Connects one that is waiting to delve. */
  connect(port: number): void;
  /** Ends its session; `restart`: it is to begin a new one. */
  end(restart: boolean): void;
}

type Phase = 'waiting' | 'connected' | 'configured' | 'ended';

export interface EditorEvents {
  onConfigured(): void;
  /** Its bytes make no sense. */
  onError(why: string): void;
}

/** What may wait for delve: an editor asks for one thing at a time then. */
const MOST_WAITING = 2 ** 20;
/** An editor that is asked to end closes its connection itself. At the end of the session, that is not waited for as long. */
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
  /** It has asked to be disconnected. */
  #isLeaving = false;
  #hasTerminated = false;
  /** The number of the last message that it got. */
  #seq = 0;
  #fail: (error: unknown) => void;

  /** `first`: what it has sent already. */
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
    if (this.#waitingSize > MOST_WAITING) throw new Error('it sends too much before the controller runs');
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

/** Hands over each message; `fail` gets what is wrong with the bytes. Returns the function that reads more of them. */
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

/** A client that speaks delve's own protocol (GoLand, `dlv connect`), which has no word for a new session: it is connected as it is. */
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
