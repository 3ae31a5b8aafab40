import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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

describe('what says nothing', () => {
  const object = (generation: number, image: string, applied: string): string =>
    [
      'metadata:',
      '  annotations:',
      '    kubectl.kubernetes.io/last-applied-configuration: |',
      `      {"image":"${applied}"}`,
      `  generation: ${generation}`,
      '  name: web',
      'spec:',
      `  image: ${image}`,
    ].join('\n');
  const runs = (before: string, after: string) =>
    runsOf(rowsOf(before, after)).map(({ rows, isFolded, quiet }) => [isFolded, rows.length, ...quiet]);

  it('is folded, and named', () => {
    expect(runs(object(1, 'a', 'a'), object(2, 'b', 'b'))).toEqual([
      [true, 5, 'last-applied-configuration', 'generation'],
      [false, 3],
    ]);
  });

  it('is folded if nothing else differs', () => {
    expect(runs(object(1, 'a', 'a'), object(2, 'a', 'a'))).toEqual([[true, 8, 'generation']]);
  });

  it('is only what is in the metadata', () => {
    expect(runs('spec:\n  other:\n    generation: 1', 'spec:\n  other:\n    generation: 2')).toEqual([
      [false, 3],
    ]);
  });
});
