import type { DevloopEvent, Progress } from './events.ts';
import type { Paint } from './text.ts';
import { oneLine } from './text.ts';

export interface Terminal {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

export interface WaitingLine {
  show(event: Extract<DevloopEvent, { type: 'waiting' }>): void;
  /** Removes the line, to make room for one that stays. */
  clear(): void;
}

const EVERY_SECONDS = 5;

/** One line that changes in place on a terminal; elsewhere (a log, CI) a line every few seconds. */
export function createWaitingLine(terminal: Terminal, paint: Paint): WaitingLine {
  return terminal.isTTY ? lineInPlace(terminal, paint) : lineNowAndThen(terminal);
}

function lineInPlace(terminal: Terminal, paint: Paint): WaitingLine {
  let visible = false;
  return {
    show(event) {
      // A line that wraps could not be cleared; one column stays free because some terminals wrap there already.
      const text = [...textOf(event)].slice(0, (terminal.columns || 80) - 1).join('');
      terminal.write(`\r\x1b[K${paint('dim', text)}`);
      visible = true;
    },
    clear() {
      if (visible) terminal.write('\r\x1b[K');
      visible = false;
    },
  };
}

function lineNowAndThen(terminal: Terminal): WaitingLine {
  let last: { for: string; seconds: number } | undefined;
  return {
    show(event) {
      const goesOn = last?.for === event.for && event.seconds >= last.seconds;
      if (goesOn && event.seconds - last!.seconds < EVERY_SECONDS) return;
      last = { for: event.for, seconds: event.seconds };
      terminal.write(`${textOf(event)}\n`);
    },
    clear() {},
  };
}

function textOf(event: Extract<DevloopEvent, { type: 'waiting' }>): string {
  const { for: what, seconds, limitSeconds, progress } = event;
  const limit = limitSeconds === undefined ? '' : `, at most ${Math.round(limitSeconds)} s`;
  const step = progress === undefined ? '' : `, ${progressText(progress)}`;
  return oneLine(`waiting for ${what} (${Math.round(seconds)} s${limit}${step})`).replaceAll('\t', ' ');
}

function progressText({ step, what, done, total }: Progress): string {
  const unit = step === 'compiling' ? 'package' : 'module';
  return `${step} ${unit} ${done}${total === undefined ? '' : ` of ${total}`}: ${what}`;
}
