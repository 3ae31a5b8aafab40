import fc from 'fast-check';
import { expect, it } from 'vitest';
import { splitWords } from '../../../src/config/words.ts';

it.each([
  ['go build ./...', ['go', 'build', './...']],
  ['  a \t b\n', ['a', 'b']],
  [`a "b c" 'd e' f\\ g`, ['a', 'b c', 'd e', 'f g']],
  [`-X="a b"'c'd`, ['-X=a bcd']],
  [`a "" ''`, ['a', '', '']],
  [`a "q\\"q" "\\\\" "\\n"`, ['a', 'q"q', '\\', '\\n']],
  [`a '&&' "|" '$HOME' "\\$HOME" \\; \\>`, ['a', '&&', '|', '$HOME', '$HOME', ';', '>']],
  ['env A=1 go run . --flag=a', ['env', 'A=1', 'go', 'run', '.', '--flag=a']],
  ['a $ b$', ['a', '$', 'b$']],
])('splits %j', (text, words) => {
  expect(splitWords(text)).toEqual({ words });
});

it.each([
  ['a && b', '`&&`'],
  ['a || b', '`||`'],
  ['a | b', '`|`'],
  ['a; b', '`;`'],
  ['a > b', '`>`'],
  ['a < b', '`<`'],
  ['a &', '`&`'],
  ['a $(b)', '`$(`'],
  ['a "$(b)"', '`$(`'],
  ['a `b`', '```'],
  ['a "`b`"', '```'],
  ['a $HOME', '`$H`'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's, not a template's.
  ['a "x${HOME}"', '`${`'],
  ['A=1 b', 'begin with `env`'],
  ['a "b', 'the quote " is not closed'],
  ["a 'b", "the quote ' is not closed"],
  ['a \\', 'the command ends with a backslash'],
  ['', 'the command is empty'],
])('refuses %j', (text, why) => {
  expect(splitWords(text)).toEqual({ problem: expect.stringContaining(why) });
});

it('takes every quoted word as it is', () => {
  const word = fc.string().filter((text) => !text.includes("'"));
  fc.assert(
    fc.property(fc.array(word), (rest) => {
      const text = ['go', ...rest].map((one) => `'${one}'`).join(' ');
      expect(splitWords(text)).toEqual({ words: ['go', ...rest] });
    }),
  );
});
