import fc from 'fast-check';
import { createPatch } from 'rfc6902';
import { describe, expect, it } from 'vitest';
import { differences, isSameAnswer, stable } from '../../../src/reviews/compare.ts';
import type { PatchOperation } from '../../../src/reviews/patch.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';

const OBJECT = { kind: 'Application', spec: { image: 'a', ports: [1, 2] } };

function answered(response: object, object: unknown = OBJECT): ReviewRecord {
  return {
    ...{ v: 1, id: 'r-000001', at: '', kind: 'admission', webhook: 'w', path: '/w', verdict: 'allowed' },
    ms: { held: 0, controller: 1, total: 1, budget: 1 },
    request: { kind: 'AdmissionReview', request: { uid: 'u', object } },
    response: { response: { allowed: true, ...response } },
  };
}

const titles = (one: ReviewRecord, other: ReviewRecord) => differences(one, other).map(({ title }) => title);

describe('patches', () => {
  const value = fc.jsonValue({ depthSize: 'small' });
  const object = fc.dictionary(fc.stringMatching(/^[a-z~/]{1,3}$/), value, { maxKeys: 4 });
  const patchTo = (from: object, to: object) => createPatch(from, to) as PatchOperation[];

  it('are the same if they make the same object, in whatever steps', () => {
    fc.assert(
      fc.property(object, object, object, (from, by, to) => {
        const direct = answered({ patch: patchTo(from, to) }, from);
        const around = answered({ patch: [...patchTo(from, by), ...patchTo(by, to)] }, from);
        const whole = answered({ patch: [{ op: 'replace', path: '', value: to }] }, from);
        expect(titles(direct, around)).toEqual([]);
        expect(titles(direct, whole)).toEqual([]);
      }),
    );
  });

  it('differ exactly if the objects differ', () => {
    fc.assert(
      fc.property(object, object, object, (from, one, other) => {
        const isSame = JSON.stringify(createPatch(one, other)) === '[]';
        const [was, is] = [one, other].map((to) => answered({ patch: patchTo(from, to) }, from));
        expect(titles(was!, is!)).toEqual(isSame ? [] : ['object']);
      }),
    );
  });

  it('are shown as what they do to the object', () => {
    const patch = [{ op: 'add', path: '/spec/replicas', value: 1 }];
    const [found] = differences(answered({ patch }), answered({ patch: [{ ...patch[0], value: 2 }] }));
    expect(found!.text).toMatch(/^-\s+replicas: 1$/m);
    expect(found!.text).toMatch(/^\+\s+replicas: 2$/m);
  });

  it('that do not apply are the same if their cause and operations are', () => {
    const broken = answered({ patch: [{ op: 'remove', path: '/spec/none' }] });
    expect(titles(broken, broken)).toEqual([]);
    expect(titles(broken, answered({}))).toEqual(['object']);
  });
});

it.each([
  ['verdict', { verdict: 'denied' as const }, {}],
  ['code', { code: 403 }, {}],
  ['reason', {}, { status: { reason: 'Invalid' } }],
  ['message', {}, { status: { message: 'no' } }],
  ['warnings', {}, { warnings: ['old field'] }],
])('another %s is a difference', (title, summary, response) => {
  expect(titles(answered({}), { ...answered(response), ...summary })).toEqual([title]);
});

it('warnings are a set', () => {
  expect(titles(answered({ warnings: ['a', 'b'] }), answered({ warnings: ['b', 'a', 'a'] }))).toEqual([]);
});

it('a message without what differs each time is the same; with another number in it, it is not', () => {
  const said = (message: string) => answered({ status: { message } });
  const before = said('at 2026-11-22T10:15:02.114Z in hook.go:41: panic 0xc000123456, review u, port 80');
  expect(
    titles(before, said('at 2026-11-23T00:00:00Z in hook.go:57: panic 0xc000aaaaaa, review u, port 80')),
  ).toEqual([]);
  expect(
    titles(before, said('at 2026-11-22T10:15:02.114Z in hook.go:41: panic 0xc000123456, review u, port 81')),
  ).toEqual(['message']);
  expect(stable('spec.replicas: Invalid value: 51: must be between 0 and 50')).toContain(
    '51: must be between 0 and 50',
  );
});

it('conversions are compared by their objects', () => {
  const converted = (...objects: object[]) => ({
    ...answered({ convertedObjects: objects, result: { status: 'Success' } }),
    kind: 'conversion' as const,
  });
  expect(titles(converted({ a: 1 }), converted({ a: 1 }))).toEqual([]);
  expect(titles(converted({ a: 1 }), converted({ a: 2 }))).toEqual(['object']);
});

it('what is exactly the same has no differences either', () => {
  const encoded = (patch: object[]) => Buffer.from(JSON.stringify(patch)).toString('base64');
  const operations = fc.array(
    fc.record(
      {
        op: fc.constant('add'),
        path: fc.constantFrom('/a', '/b', '/c', '/a/c'),
        value: fc.jsonValue(),
      },
      // As a parsed answer has them.
      { noNullPrototype: true },
    ),
    { minLength: 1, maxLength: 3 },
  );
  const message = fc.constantFrom('yes', 'no', undefined);
  fc.assert(
    fc.property(operations, operations, message, message, (was, is, said, says) => {
      const before = answered({ patch: was, status: { message: said } });
      const given = { allowed: true, uid: 'new', patch: encoded(is), status: { message: says } };
      const now = JSON.parse(JSON.stringify(given));
      if (isSameAnswer(JSON.parse(JSON.stringify(before)), now))
        expect(titles(before, answered({ patch: is, status: { message: says } }))).toEqual([]);
      expect(isSameAnswer({ ...before, redacted: 1 }, now)).toBe(false);
    }),
  );
  const same = answered({ uid: 'u', patch: [{ op: 'remove', path: '/spec' }] });
  expect(
    isSameAnswer(same, { allowed: true, uid: 'v', patch: encoded([{ op: 'remove', path: '/spec' }]) }),
  ).toBe(true);
});
