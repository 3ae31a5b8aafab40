import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Asks the person at the terminal. The answer to a hidden question is not shown. */
export async function askAtTerminal(
  question: string,
  options: { hidden: boolean },
  terminal: {
    stdin: NodeJS.ReadStream;
    stderr: NodeJS.WriteStream;
    signal: AbortSignal;
    interrupt: () => void;
  },
): Promise<string> {
  const { stdin, stderr, signal } = terminal;
  let muted = false;
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!muted) stderr.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: stdin, output, terminal: true });
  // In raw mode the terminal passes Ctrl-C to this process instead of raising a signal.
  lines.once('SIGINT', () => {
    stderr.write('\n');
    terminal.interrupt();
  });
  try {
    const answer = lines.question(question, { signal });
    muted = options.hidden;
    return await answer;
  } catch (error) {
    // Ctrl-D, or a terminal that is gone: no answer counts as an empty one.
    if (signal.aborted) throw error;
    return '';
  } finally {
    lines.close();
    if (options.hidden && !signal.aborted) stderr.write('\n');
  }
}
