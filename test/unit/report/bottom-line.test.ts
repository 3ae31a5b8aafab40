import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { createBottomLine } from '../../../src/report/bottom-line.ts';
import { SERVING } from '../../support/session-facts.ts';

class Window extends EventEmitter {
  isTTY = true;
  columns = 80;
  written = '';
  write(text: string): void {
    this.written += text;
  }
  /** What was written since the last call. */
  take(): string {
    const { written } = this;
    this.written = '';
    return written;
  }
}

const ERASED = '\r\x1b[J';

function shown(): { terminal: Window; line: ReturnType<typeof createBottomLine> } {
  const terminal = new Window();
  const line = createBottomLine(terminal, (_, text) => text);
  line.showStates([SERVING]);
  return { terminal, line };
}

it('is drawn again in the new width when the window changes', () => {
  const { terminal } = shown();
  expect(terminal.take()).toBe(
    '● serving  3f2a91c 10:14:58 +dirty  direct 10.99.1.1:39939  12/min  ? keys\r',
  );
  terminal.columns = 40;
  terminal.emit('resize');
  expect(terminal.take()).toBe(`${ERASED}● serving  12/min  ? keys\r`);
  // The same width again changes nothing.
  terminal.emit('resize');
  expect(terminal.take()).toBe('');
  terminal.columns = 80;
  terminal.emit('resize');
  expect(terminal.take()).toContain('direct 10.99.1.1:39939');
});

it('stays below what is printed, and is gone when it is cleared', () => {
  const { terminal, line } = shown();
  const drawn = terminal.take();
  line.print('above');
  expect(terminal.take()).toBe(`${ERASED}above\n${drawn}`);
  line.clear();
  expect(terminal.take()).toBe(ERASED);
  terminal.emit('resize');
  expect(terminal.take()).toBe('');
});
