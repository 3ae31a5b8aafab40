import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rowsOf, runsOf } from '../../../src/page/rows.ts';

const shown = (before: string, after: string): string[] =>
  rowsOf(before, after).map(
    ({ left, right, isSame }) => `${left?.text ?? ''}${isSame ? '=' : '|'}${right?.text ?? ''}`,
  );

it('puts a changed line beside what it was, and leaves the other side empty where there is none', () => {
  expect(shown('a\nb\nc\n', 'a\nB\nc\nd')).toEqual(['a=a', 'b|B', 'c=c', '|d']);
  expect(shown('a\nb\nc', 'c')).toEqual(['a|', 'b|', 'c=c']);
  expect(shown('a\nb', 'x\ny\nz')).toEqual(['a|x', 'b|y', '|z']);
});

it('numbers the lines of each side', () => {
  expect(rowsOf('a\nb', 'b\nc').map(({ left, right }) => [left?.number, right?.number])).toEqual([
    [1, undefined],
    [2, 1],
    [undefined, 2],
  ]);
});

it('folds what is far from any change', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  const runs = runsOf(rowsOf(lines.join('\n'), lines.with(15, 'other').join('\n')));
  expect(runs.map(({ rows, isFolded }) => [rows.length, isFolded])).toEqual([
    [12, true],
    [7, false],
    [11, true],
  ]);
});

it('has each line of both texts once, in order', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c: 1', '- d'), { minLength: 1 })
    .map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const rows = runsOf(rowsOf(before, after)).flatMap((run) => run.rows);
      expect(rows.flatMap(({ left }) => left?.text ?? []).join('\n')).toBe(before);
      expect(rows.flatMap(({ right }) => right?.text ?? []).join('\n')).toBe(after);
      expect(rows.every(({ left, right, isSame }) => isSame === (left?.text === right?.text))).toBe(true);
    }),
  );
});
