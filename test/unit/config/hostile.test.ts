import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/parse.ts';

const SIZE = 16 * 1024;
const filled = (unit: string): string => unit.repeat(SIZE / unit.length);

function expectSound(text: string): void {
  const parsed = parseConfig(text);
  if ('config' in parsed) return;
  expect(parsed.problems.length).toBeGreaterThan(0);
  for (const { line, column, message } of parsed.problems) {
    expect(line).toBeGreaterThan(0);
    expect(column).toBeGreaterThan(0);
    expect(message).not.toBe('');
  }
}

it.each(['[', '{', '- ', '? ', '&a ', '*a ', ':\n', '!', '"', '\0', 'a: ', '---\n', '%', '{a: ', '&a [*a, '])(
  'takes a file full of %j',
  (unit) => {
    const began = performance.now();
    expectSound(filled(unit));
    expect(performance.now() - began).toBeLessThan(10_000);
  },
);

it('does not unfold a bomb of aliases', () => {
  const levels = Array.from({ length: 30 }, (_, i) => `l${i}: &l${i} [${`*l${i - 1}, `.repeat(9)}]`);
  const parsed = parseConfig(['l-1: &l-1 [x]', ...levels, 'service: *l29'].join('\n'));
  expect(parsed).toHaveProperty('problems');
});

it('gives no object another prototype', () => {
  const parsed = parseConfig('controller:\n  env:\n    __proto__: x\n    constructor: y\n');
  const env = 'config' in parsed ? parsed.config.controller?.env : undefined;
  expect(Object.entries(env ?? {})).toEqual([
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ]);
  expect(Object.getPrototypeOf(env)).toBe(Object.prototype);
});

it('never throws, whatever the text', () => {
  const pieces = [
    'context',
    'port',
    'controller',
    'env',
    'run',
    ': ',
    '\n',
    '  ',
    '\t',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    '&a',
    '*a',
    '!t ',
    '<<',
    '|',
    '>',
    '#',
    '%YAML 1.1\n',
    '---',
    '...',
    '~',
    '1',
    '\0',
    '\x1b',
    '\ud800',
    '$(',
  ];
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(...pieces), maxLength: 40 }), expectSound), {
    numRuns: 2_000,
  });
  fc.assert(fc.property(fc.string({ unit: 'binary' }), expectSound), { numRuns: 500 });
});
