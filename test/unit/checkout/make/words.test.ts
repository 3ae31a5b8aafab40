import { expect, test } from 'vitest';
import { endOfCommand, wordsOf } from '../../../../src/checkout/make/words.ts';

test.each<[string, string[]]>([
  ['a  b\tc', ['a', 'b', 'c']],
  [`a "b 'c" 'd "e' f`, ['a', `"b 'c"`, `'d "e'`, 'f']],
  ['-X=a="b c" d', ['-X=a="b c"', 'd']],
  ['$(a "b)" (c d) $$(e)) f', ['$(a "b)" (c d) $$(e))', 'f']],
  [`"$(a "b c" d)" \`e f\` \${g h}`, ['"$(a "b c" d)"', '`e f`', `\${g h}`]],
  ['"a \\" b" c\\ d', ['"a \\" b"', 'c\\ d']],
  [`a "b 'c`, ['a', '"b', "'c"]],
  ['a $(b c', ['a', '$(b c']],
])('the words of %s', (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

test.each<[string, string]>([
  ['a $(b; c) "d & e" && f', 'a $(b; c) "d & e" '],
  ['a) && b', 'a'],
  ['a (b; c) | d', 'a (b; c) '],
])('the command at the beginning of %s', (text, command) => {
  expect(text.slice(0, endOfCommand(text, 0))).toBe(command);
});

test.each(['"$(', '"', '$(', '"${', '("'])('what nests %s without end is read at once', (part) => {
  const text = part.repeat(20_000);
  const start = performance.now();
  wordsOf(text);
  endOfCommand(text, 0);
  expect(performance.now() - start).toBeLessThan(2_000);
});
