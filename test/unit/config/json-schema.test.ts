import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonSchema } from '../../../src/config/json-schema.ts';
import { parseConfig } from '../../../src/config/parse.ts';
import { KEYS, type Key, rowOf } from '../../../src/config/table.ts';

const validate = new Ajv({ allowUnionTypes: true }).compile(jsonSchema());

/** The file as a value, which is also its YAML once it is written as JSON. */
function fileWith(key: Key, value: unknown): object {
  const [first = '', inner] = key.split('.');
  return { [first]: inner === undefined ? value : { [inner]: value } };
}

const accepts = (file: unknown): boolean => !('problems' in parseConfig(JSON.stringify(file)));

const WORDS = KEYS.map((key) => rowOf(key).example.replace(/^\[(.*)\]$/, '$1'));
const word = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.constantFrom(
    'auto',
    'none',
    'ssh:a',
    'fe80::1%eth0',
    '::1/128',
    'a/b',
    '$.a',
    '{.a}',
    '..',
    '-x',
    '',
    'ü',
    'a\tb',
    'x\u0085',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const value = fc.oneof(
  { weight: 4, arbitrary: word },
  { weight: 2, arbitrary: fc.array(word, { maxLength: 3 }) },
  { weight: 2, arbitrary: fc.dictionary(word, fc.oneof(word, fc.integer(), fc.boolean()), { maxKeys: 2 }) },
  fc.oneof(fc.integer({ min: -1, max: 70_000 }), fc.double({ noNaN: true, noDefaultInfinity: true })),
  fc.oneof(fc.boolean(), fc.constant(null), fc.array(fc.integer(), { maxLength: 2 })),
);

describe.each(KEYS)('%s', (key) => {
  it('is accepted by the schema whenever devloop accepts it', () => {
    fc.assert(
      fc.property(value, (one) => {
        const file = fileWith(key, one);
        if (accepts(file)) expect(validate(file), JSON.stringify(validate.errors)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('is accepted as devloop.yaml is written, and refused with another type, by both', () => {
    const wrong = [null, '', [], [[]], { '': 1 }, 1.5];
    for (const one of wrong)
      expect([one, validate(fileWith(key, one)), accepts(fileWith(key, one))]).toEqual([one, false, false]);
  });
});

it('an unknown key is refused, an empty section is not', () => {
  for (const file of [{ contxt: 'a' }, { controller: { wacth: ['a'] } }, { certificates: 'x' }])
    expect([validate(file), accepts(file)]).toEqual([false, false]);
  for (const file of [null, {}, { controller: null }])
    expect([validate(file), accepts(file)]).toEqual([true, true]);
});
