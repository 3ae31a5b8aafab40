import { styleText } from 'node:util';

export interface Narrator {
  chapter(text: string): void;
  /** A chapter with the next number. */
  step(text: string): void;
  say(text: string): void;
  command(line: string): void;
  output(text: string): void;
  fail(text: string): void;
  /** What `devloop up` prints while the demo runs, with its name and a bar in front of each line. */
  up(text: string): void;
}

export function createNarrator(stream: NodeJS.WriteStream): Narrator {
  const style = (format: Parameters<typeof styleText>[0], text: string): string =>
    styleText(format, text, { stream });
  const lines = (text: string, front: string): void => {
    for (const line of text.replace(/\n$/, '').split('\n')) stream.write(`${front}${line}\n`);
  };
  const chapter = (text: string): void => void stream.write(`\n${style('bold', text)}\n`);
  let steps = 0;
  return {
    chapter,
    step: (text) => chapter(`${++steps}. ${text}`),
    say: (text) => lines(text, ''),
    command: (line) => void stream.write(`${style('cyan', `$ ${line}`)}\n`),
    output: (text) => lines(text, '    '),
    fail: (text) => lines(style('red', `The demo failed: ${text}`), ''),
    up: (text) => lines(text, style('dim', ' up | ')),
  };
}
