import type { Terminal } from './waiting.ts';

/**
 * Returns both streams, with everything that is printed to stdout at once gathered into one write, even a thousand lines. That write comes
 * before the program goes on to anything else, and before anything that is printed to stderr later.
 */
export function gathered(stdout: Terminal, stderr: Terminal): { stdout: Terminal; stderr: Terminal } {
  let pending = '';
  const flush = (): void => {
    const text = pending;
    pending = '';
    if (text !== '') stdout.write(text);
  };
  return {
    stdout: through(stdout, (text) => {
      if (pending === '') queueMicrotask(flush);
      pending += text;
    }),
    stderr: through(stderr, (text) => {
      flush();
      stderr.write(text);
    }),
  };
}

/** The width of a terminal changes, so it is read each time. */
function through(terminal: Terminal, write: (text: string) => void): Terminal {
  return {
    write,
    get isTTY() {
      return terminal.isTTY;
    },
    get columns() {
      return terminal.columns;
    },
    on: (event, listener) => terminal.on?.(event, listener),
  };
}
