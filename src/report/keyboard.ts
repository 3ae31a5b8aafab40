import type { Printer } from './human.ts';
import type { AttendedSession } from './session-state.ts';

export interface KeyboardPorts {
  stdin: Pick<NodeJS.ReadStream, 'setRawMode' | 'resume' | 'pause' | 'on' | 'off'>;
  printer: Pick<Printer, 'showStates'>;
  /** Lists the keys. */
  help(): void;
  /**
   * Whether this process is in the foreground of the terminal. The system stops a process that touches its terminal from the background.
   */
  isInForeground(): boolean;
  /** Ends the sessions, as a Ctrl-C does. */
  leave(key: string): void;
  /** Sends to all processes in the foreground what the terminal itself would send for Ctrl-C, Ctrl-Z and Ctrl-\. */
  signal(name: 'SIGINT' | 'SIGTSTP' | 'SIGQUIT'): void;
}

/** How often the line is updated with what no event announces, such as reviews that wait. */
const LOOK_EVERY_MS = 1_000;
/** How long after a change the line is updated: a flood of reviews must not become a flood of lines. */
const SHOW_AFTER_MS = 100;
/** Nobody presses more keys at once, so longer input is text that was pasted. */
const MOST_KEYS = 4;

const CTRL_C = '\x03';
const CTRL_Z = '\x1a';
const CTRL_BACKSLASH = '\x1c';
const ESCAPE = '\x1b';

/**
 * The keys of a terminal and the line at its bottom, from the time when an attended session is ready. Until then, others may need the
 * terminal: for example, a program that connects to an SSH host asks for a password there.
 */
export class Keyboard {
  #ports: KeyboardPorts;
  #sessions = new Set<AttendedSession>();
  #isTaken = false;
  /** A session is ready. */
  #isReady = false;
  /** A question is using the terminal. */
  #isAway = false;
  /** Whether Node believes that its settings of the terminal are in effect. */
  #isRaw = false;
  #looking: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;

  constructor(ports: KeyboardPorts) {
    this.#ports = ports;
    // The end of a terminal is also announced by a signal, so this error needs no report.
    ports.stdin.on('error', () => this.#giveBack());
  }

  attend(session: AttendedSession): Disposable {
    this.#sessions.add(session);
    const listening = session.onState(() => this.#onState());
    this.update();
    return {
      [Symbol.dispose]: () => {
        listening[Symbol.dispose]();
        this.#sessions.delete(session);
        this.update();
      },
    };
  }

  /** Gives the terminal back while a question is asked. */
  async whileAway<T>(ask: () => Promise<T>): Promise<T> {
    this.#isAway = true;
    this.update();
    try {
      return await ask();
    } finally {
      this.#isAway = false;
      this.update();
    }
  }

  /** Must be called when this process continues after it was stopped, since the shell has used settings of its own in between. */
  continue(): void {
    this.#giveBack();
    this.update();
  }

  /** Takes the terminal or gives it back, as necessary. */
  update(): void {
    this.#isReady = [...this.#sessions].some((one) => one.state().phase !== 'starting');
    const isWanted = this.#isReady && !this.#isAway && this.#ports.isInForeground();
    if (isWanted && !this.#isTaken) this.#take();
    if (!isWanted && this.#isTaken) this.#giveBack();
    this.#show();
  }

  /** Does not check again for each review whether this process is in the foreground. */
  #onState(): void {
    if (this.#isTaken) this.#showSoon();
    else if (!this.#isReady) this.update();
  }

  #take(): void {
    const { stdin } = this.#ports;
    try {
      // In the foreground again, after the shell has used its own settings.
      if (this.#isRaw) stdin.setRawMode(false);
      stdin.setRawMode(true);
    } catch {
      return;
    }
    this.#isRaw = true;
    stdin.on('data', this.#onData);
    stdin.resume();
    this.#isTaken = true;
    this.#looking = setInterval(() => this.#show(), LOOK_EVERY_MS);
  }

  #giveBack(): void {
    if (!this.#isTaken) return;
    const { stdin, printer } = this.#ports;
    this.#isTaken = false;
    clearInterval(this.#looking);
    clearTimeout(this.#soon);
    this.#soon = undefined;
    printer.showStates?.([]);
    stdin.off('data', this.#onData);
    stdin.pause();
    // From the background, the system would stop this process each time it tries.
    if (!this.#ports.isInForeground()) return;
    try {
      stdin.setRawMode(false);
      this.#isRaw = false;
    } catch {
      // The terminal is gone.
    }
  }

  #show(): void {
    if (this.#isTaken) this.#ports.printer.showStates?.([...this.#sessions].map((one) => one.state()));
  }

  #showSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#show();
    }, SHOW_AFTER_MS);
  }

  #onData = (data: Buffer | string): void => {
    const text = data.toString();
    if (text.includes(CTRL_C)) this.#ports.signal('SIGINT');
    // Arrows and other keys with a name send several characters.
    else if (!text.startsWith(ESCAPE) && text.length <= MOST_KEYS) for (const key of text) this.#press(key);
  };

  /** Passes the key to all sessions, with their states from before: what the key does to the first one must not affect the next. */
  #hand(key: string): void {
    const states = [...this.#sessions].map((one) => one.state());
    for (const session of this.#sessions) session.onKey(key, states);
  }

  #press(key: string): void {
    const { signal, leave, help } = this.#ports;
    const sessions = [...this.#sessions];
    switch (key) {
      case CTRL_Z:
      case CTRL_BACKSLASH:
        this.#giveBack();
        signal(key === CTRL_Z ? 'SIGTSTP' : 'SIGQUIT');
        break;
      case 'q':
        // A second Ctrl-C exits at once; a second q does not.
        if (!sessions.some((one) => one.state().phase === 'ending')) leave(key);
        break;
      case '?':
        help();
        break;
      default:
        this.#hand(key);
    }
  }
}
