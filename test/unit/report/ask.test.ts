import { PassThrough } from 'node:stream';
import { beforeEach, expect, it } from 'vitest';
import { askAtTerminal } from '../../../src/report/ask.ts';

let stdin: PassThrough;
let shown: string;
let leaving: AbortController;

beforeEach(() => {
  stdin = new PassThrough();
  shown = '';
  leaving = new AbortController();
});

function ask(hidden: boolean): Promise<string> {
  const stderr = { write: (text: Buffer | string) => (shown += text) };
  const terminal = { stdin, stderr, signal: leaving.signal, interrupt: () => leaving.abort('SIGINT') };
  return askAtTerminal('Passphrase: ', { hidden }, terminal as never);
}

it('shows the question, and what is typed only where it is no secret', async () => {
  const secret = ask(true);
  stdin.write('open sesame\r');
  expect(await secret).toBe('open sesame');
  expect(shown).toContain('Passphrase: ');
  expect(shown).not.toContain('sesame');
  const plain = ask(false);
  stdin.write('yes\r');
  expect(await plain).toBe('yes');
  expect(shown).toContain('yes');
});

it('takes Ctrl-D for an empty answer', async () => {
  const answer = ask(true);
  stdin.write('\x04');
  expect(await answer).toBe('');
});

it('ends with the session at Ctrl-C', async () => {
  const answer = ask(false);
  stdin.write('\x03');
  await expect(answer).rejects.toThrow();
  expect(leaving.signal.aborted).toBe(true);
  expect(shown).toMatch(/\n$/);
});
