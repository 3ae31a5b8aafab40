import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Asks the person at a terminal. What is typed to a hidden question is not shown. */
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
  // In raw mode the terminal hands Ctrl-C to us instead of making a signal of it.
  lines.once('SIGINT', () => {
    stderr.write('\n');
    terminal.interrupt();
  });
  try {
    const answer = lines.question(question, { signal });
    muted = options.hidden;
    return await answer;
  } catch (error) {
    // Ctrl-D, or a terminal that has gone: no answer is an empty one.
    if (signal.aborted) throw error;
    return '';
  } finally {
    lines.close();
    if (options.hidden && !signal.aborted) stderr.write('\n');
  }
}
