import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, KubeObject } from '../../../src/cluster/api/objects.ts';
import {
  changePatch,
  IN_ANNOTATION,
  type OwnChange,
  same,
  sessionOf,
} from '../../../src/cluster/marks/marks.ts';
import { valueAt } from '../../../src/cluster/marks/paths.ts';
import { planUndo, withoutOwn } from '../../../src/cluster/marks/undo.ts';
import { applyJsonPatch } from '../../support/json-patch.ts';

/** Keys that break naive JSON pointers and naive look-ups. */
const key = fc
  .oneof(
    fc.constantFrom('selector', 'replicas', 'a/b', '~', '~1', 'm~0n', '', 'x.y/z', 'constructor', 'toString'),
    fc.string({ maxLength: 6 }),
  )
  .filter((one) => one !== '__proto__');
const json = fc.jsonValue({ maxDepth: 2 }).map(withoutProto) as fc.Arbitrary<Json>;
const strings = fc.option(
  fc.dictionary(key, fc.string({ maxLength: 8 }), { maxKeys: 3, noNullPrototype: true }),
  { nil: undefined },
);

interface Spec extends KubeObject {
  spec: Record<string, Json>;
}

const object: fc.Arbitrary<Spec> = fc
  .record({
    labels: strings,
    annotations: strings,
    spec: fc.dictionary(key, json, { maxKeys: 5, noNullPrototype: true }),
  })
  .map(({ labels, annotations, spec }) => ({
    metadata: {
      name: 'x',
      resourceVersion: '7',
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
    },
    spec,
  }));

/** Owned fields, with what the change writes; undefined removes the field. */
const owned = fc.uniqueArray(fc.record({ name: key, value: fc.option(json, { nil: undefined }) }), {
  selector: (one) => one.name,
  minLength: 1,
  maxLength: 3,
});
const foreign = fc.array(fc.record({ name: key, value: fc.option(json, { nil: undefined }) }), {
  maxLength: 4,
});

function withoutProto(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('__proto__', 'proto'));
}

function change(before: Spec, fields: { name: string; value: Json | undefined }[]): Spec {
  return applyJsonPatch(
    before,
    changePatch(
      before,
      's1',
      fields.map(({ name, value }) => ({ path: ['spec', name], ...(value === undefined ? {} : { value }) })),
    ),
  );
}

type Names = { name: string }[];

function planned(object: Spec, fields: Names): Exclude<ReturnType<typeof planUndo>, { fault: string }> {
  const own: OwnChange = {
    store: IN_ANNOTATION,
    fields: fields.map(({ name }) => ({ path: ['spec', name], isOwn: () => true })),
  };
  const plan = planUndo(object, own);
  if ('fault' in plan) throw new Error(plan.fault);
  return plan;
}

function keptIn(object: Spec, fields: Names): object[] {
  return planned(object, fields)
    .fields.filter(({ kept }) => kept)
    .map(({ path, to, before }) => ({ path, to, before }));
}

function undo(object: Spec, fields: Names): Spec {
  return applyJsonPatch(object, planned(object, fields).patch);
}

function defined<K extends string>(key: K, value: Json | undefined): { [key in K]?: Json } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]: Json });
}

function write(object: Spec, edits: { name: string; value: Json | undefined }[]): void {
  for (const { name, value } of edits) {
    if (value === undefined) delete object.spec[name];
    else object.spec[name] = value;
  }
}

/** The API server drops empty maps. */
function normal(object: Spec): unknown {
  const { labels = {}, annotations = {} } = object.metadata;
  return { labels, annotations, spec: object.spec };
}

describe('a marked change', () => {
  it('is restored to exactly what was there, and every change by others to other fields is kept', () => {
    fc.assert(
      fc.property(object, owned, foreign, strings, (before, fields, edits, labels) => {
        const others = edits.filter((edit) => fields.every((field) => field.name !== edit.name));
        const changed = change(before, fields);
        for (const { name, value } of fields)
          expect(same(valueAt(changed, ['spec', name]), value)).toBe(true);
        expect(sessionOf(changed)).toBe('s1');
        write(changed, others);
        Object.assign(changed.metadata.labels!, labels);
        const expected = structuredClone(before);
        write(expected, others);
        expected.metadata.labels = { ...expected.metadata.labels, ...labels };
        expect(keptIn(changed, fields)).toEqual([]);
        // An owned field that had an empty map may be absent afterwards: to the API server, the two are the same.
        const back = undo(changed, fields);
        for (const { name } of fields) {
          expect(same(valueAt(back, ['spec', name]), valueAt(expected, ['spec', name]))).toBe(true);
          delete back.spec[name];
          delete expected.spec[name];
        }
        expect(normal(back)).toEqual(normal(expected));
      }),
    );
  });

  it('keeps and reports a change by others to an owned field, and restores the other owned fields', () => {
    fc.assert(
      fc.property(object, owned, json, (before, fields, value) => {
        const { name, value: ours } = fields[0]!;
        fc.pre(!same(value, ours) && !same(value, valueAt(before, ['spec', name])));
        const changed = change(before, fields);
        const original = valueAt(before, ['spec', name]);
        // A map that shares an entry with ours is judged entry by entry; see below.
        fc.pre(same(withoutOwn({ ...defined('before', original), ...defined('after', ours) }, value), value));
        changed.spec[name] = value;
        expect(keptIn(changed, fields)).toEqual([{ path: ['spec', name], to: value, before: original }]);
        const back = undo(changed, fields);
        expect(back.spec[name]).toEqual(value);
        for (const other of fields.slice(1))
          expect(same(valueAt(back, ['spec', other.name]), valueAt(before, ['spec', other.name]))).toBe(true);
        expect(sessionOf(back)).toBeUndefined();
      }),
    );
  });

  it('treats an owned field as restored when somebody else has restored it', () => {
    fc.assert(
      fc.property(object, owned, (before, fields) => {
        const changed = change(before, fields);
        write(
          changed,
          fields.map(({ name }) => ({ name, value: valueAt(before, ['spec', name]) })),
        );
        expect(keptIn(changed, fields)).toEqual([]);
        expect(normal(undo(changed, fields))).toEqual(normal(before));
      }),
    );
  });

  it('leaves no mark behind once it is restored', () => {
    fc.assert(
      fc.property(object, owned, (before, fields) => {
        const once = undo(change(before, fields), fields);
        expect(sessionOf(once)).toBeUndefined();
        expect(planUndo(once, { store: IN_ANNOTATION, fields: [] })).toHaveProperty('fault');
      }),
    );
  });

  it('applies only to the version that was read', () => {
    const before: Spec = { metadata: { name: 'x', resourceVersion: '7' }, spec: { replicas: 2 } };
    const guard = { op: 'replace', path: '/metadata/resourceVersion', value: '7' };
    expect(changePatch(before, 's1', [{ path: ['spec', 'replicas'], value: 0 }])[0]).toEqual(guard);
    const fields = [{ name: 'replicas', value: 0 }];
    expect(planned(change(before, fields), fields).patch[0]).toEqual(guard);
  });

  it('writes the change, the label and the undo in one patch', () => {
    const before: Spec = { metadata: { name: 'x' }, spec: { selector: { app: 'shop' } } };
    expect(changePatch(before, 's1', [{ path: ['spec', 'selector'] }])).toEqual([
      { op: 'remove', path: '/spec/selector' },
      { op: 'add', path: '/metadata/labels', value: {} },
      { op: 'add', path: '/metadata/labels/devloop.dev~1session', value: 's1' },
      { op: 'add', path: '/metadata/annotations', value: {} },
      {
        op: 'add',
        path: '/metadata/annotations/devloop.dev~1undo',
        value: '{"v":1,"fields":[{"path":["spec","selector"],"before":{"app":"shop"}}]}',
      },
    ]);
  });
});

describe('same', () => {
  it('treats an empty map, null and an absent field as equal, and nothing else', () => {
    expect(same({}, undefined)).toBe(true);
    expect(same({ a: {} }, { a: null })).toBe(true);
    expect(same({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
    expect(same([1, 2], [2, 1])).toBe(false);
    expect(same(0, undefined)).toBe(false);
    expect(same('null', null)).toBe(false);
    expect(same([], undefined)).toBe(false);
  });
});
