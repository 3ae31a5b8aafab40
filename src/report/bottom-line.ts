import type { DevloopEvent } from './events.ts';
import type { SessionState } from './session-state.ts';
import { statusText } from './status-line.ts';
import type { Paint } from './text.ts';
import { createWaitingTexts, type Terminal, waitingText } from './waiting.ts';
import { cutToWidth } from './width.ts';

/** The line below everything else: how the sessions are doing, and what is being waited for. */
export interface BottomLine {
  /** Writes lines above the bottom line, to this terminal or to another one, and ends a wait. */
  print(text: string, to?: Terminal): void;
  wait(event: Extract<DevloopEvent, { type: 'waiting' }>): void;
  /** Without states, the line shows only what is being waited for. */
  showStates(states: SessionState[]): void;
  /** Removes the bottom line. */
  clear(): void;
}

export function createBottomLine(terminal: Terminal, paint: Paint): BottomLine {
  return terminal.isTTY ? inPlace(terminal, paint) : without(terminal);
}

const ERASE = '\r\x1b[J';

/**
 * With states, the cursor waits at the beginning of the line. If the window becomes narrower and the terminal breaks the line, everything
 * from the cursor on is still that line, and can be erased.
 */
function inPlace(terminal: Terminal, paint: Paint): BottomLine {
  let states: SessionState[] = [];
  let waiting: string | undefined;
  let drawn = '';
  const line = (): string => {
    // One column stays free because some terminals break a full line.
    const columns = (terminal.columns || 80) - 1;
    if (states.length > 0) return `${statusText(states, { waiting, columns, paint })}\r`;
    return waiting === undefined ? '' : paint('dim', cutToWidth(waiting, columns));
  };
  const write = (above: string, next: string): void => {
    const isSame = above === '' && next === drawn;
    if (!isSame) terminal.write(`${drawn === '' ? '' : ERASE}${above}${next}`);
    drawn = next;
  };
  const change = (): void => write('', line());
  terminal.on?.('resize', change);
  return {
    print(text, to = terminal) {
      // A chatty controller prints many lines, so this line is not built again for each of them.
      const wasWaiting = waiting !== undefined;
      waiting = undefined;
      const next = wasWaiting ? line() : drawn;
      if (to === terminal) return write(`${text}\n`, next);
      write('', '');
      to.write(`${text}\n`);
      write('', next);
    },
    wait(event) {
      waiting = waitingText(event);
      change();
    },
    showStates(next) {
      states = next;
      change();
    },
    clear() {
      states = [];
      waiting = undefined;
      change();
    },
  };
}

function without(terminal: Terminal): BottomLine {
  const isNews = createWaitingTexts();
  return {
    print: (text, to = terminal) => void to.write(`${text}\n`),
    wait: (event) => isNews(event) && terminal.write(`${waitingText(event)}\n`),
    showStates() {},
    clear() {},
  };
}
