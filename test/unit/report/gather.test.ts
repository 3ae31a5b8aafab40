import { expect, it } from 'vitest';
import { gathered } from '../../../src/report/gather.ts';

it('makes one write of what is printed at once, in the order of both streams', async () => {
  const written: string[] = [];
  const to = (name: string) => ({ write: (text: string) => void written.push(`${name} ${text}`) });
  const { stdout, stderr } = gathered(to('out'), to('err'));
  stdout.write('a');
  stdout.write('b');
  stderr.write('c');
  stdout.write('d');
  stdout.write('e');
  expect(written).toEqual(['out ab', 'err c']);
  await Promise.resolve();
  stdout.write('f');
  await Promise.resolve();
  expect(written).toEqual(['out ab', 'err c', 'out de', 'out f']);
});

it('knows the width that the terminal has now', () => {
  const terminal = { write() {}, isTTY: true, columns: 80 };
  const { stdout } = gathered(terminal, terminal);
  terminal.columns = 40;
  expect(stdout).toMatchObject({ isTTY: true, columns: 40 });
});
