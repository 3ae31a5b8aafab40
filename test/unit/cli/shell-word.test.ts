import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shellWord } from '../../../src/phrases.ts';

it.each([
  ['plain', 'GREETING=hello', 'GREETING=hello'],
  ['with spaces and quotes', `it's "a b"`, `'it'\\''s "a b"'`],
  ['of two lines', 'a\nb', `$'a\\nb'`],
  ['of two lines with quotes and backslashes', `it's\n\\n$HOME`, `$'it\\'s\\n\\\\n$HOME'`],
  ['with control characters before digits', '\x1b[31m\t1\r\x857', `$'\\033[31m\\0111\\015\\302\\2057'`],
])('a word %s is one word on one line, which a shell reads as it was', (_, text, word) => {
  expect(shellWord(text)).toBe(word);
  const { stdout } = spawnSync('bash', ['-c', `printf %s ${word}`]);
  expect(stdout.toString()).toBe(text);
});
