import { describe, expect, it } from 'vitest';
import type { CustomResourceDefinition, Schema } from '../../../src/cluster/api/objects.ts';
import { crdFieldsOf } from '../../../src/operator/crd-fields.ts';
import { prunedFields } from '../../../src/operator/pruned.ts';
import { changesOf } from '../../../src/reviews/patch.ts';

const text: Schema = { type: 'string' };
const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
});

const SPEC = {
  size: { type: 'integer' },
  rules: { type: 'array', items: object({ name: text }) },
  open: object({ known: object({}) }, { 'x-kubernetes-preserve-unknown-fields': true }),
  labels: { type: 'object', additionalProperties: text },
  maps: { type: 'object', additionalProperties: object({ a: text }) },
  anything: { type: 'object', additionalProperties: true },
  either: { 'x-kubernetes-int-or-string': true } as Schema,
  template: object({ spec: object({}) }, { 'x-kubernetes-embedded-resource': true }),
};

type Spec = CustomResourceDefinition['spec'];

function crd(spec: Partial<Spec> = {}): CustomResourceDefinition {
  const version = (name: string, properties: Record<string, Schema>, storage: boolean) => ({
    ...{ name, storage, subresources: { status: {} } },
    schema: { openAPIV3Schema: object({ spec: object(properties), status: object({ phase: text }) }) },
  });
  return {
    metadata: { name: 'paints.shop' },
    spec: {
      ...{ group: 'shop', names: { kind: 'Paint' } },
      versions: [version('v1', { ...SPEC, old: text }, true), version('v2', { ...SPEC, new: text }, false)],
      ...spec,
    },
  };
}

function pruned(path: string, value: unknown, version = 'v1', of = crd()): string[] {
  const fields = crdFieldsOf(of);
  if (fields === undefined) return ['nothing is known'];
  const changes = changesOf([{ op: 'add', path, value }]);
  return prunedFields(fields, version, changes).map(({ field, why }) => `${field} ${why}`);
}

describe('a field of a patch', () => {
  it.each([
    ['/spec/size', 1, []],
    ['/spec/colour', 'red', ['spec.colour']],
    ['/spec', { size: 1, colour: 'red' }, ['spec.colour']],
    [
      '',
      { apiVersion: 'shop/v1', kind: 'Paint', metadata: { x: 1 }, spec: { colour: 'red' } },
      ['spec.colour'],
    ],
    ['/other', {}, ['other']],
    ['/metadata/annotations/a', 'b', []],
    ['/spec/rules/-', { name: 'a', colour: 'red' }, ['spec.rules[].colour']],
    ['/spec/rules/0/colour', 'red', ['spec.rules[].colour']],
    [
      '/spec/rules',
      [{ colour: 1 }, { colour: 2 }, { size: 3 }],
      ['spec.rules[].colour', 'spec.rules[].size'],
    ],
    ['/spec/open/x/y', 1, []],
    ['/spec/open', { x: { y: 1 }, known: { z: 1 } }, ['spec.open.known.z']],
    ['/spec/labels/a~1b', 'c', []],
    ['/spec/maps/k', { a: 'x', b: 'y' }, ['spec.maps.*.b']],
    ['/spec/anything/a', { b: {} }, []],
    ['/spec/either', 'x', []],
    ['/spec/either', { a: 1 }, []],
    ['/spec/size/x', 1, []],
    ['/spec/rules/name', 1, []],
    [
      '/spec/template',
      { apiVersion: 'v1', kind: 'Pod', metadata: { a: 1 }, spec: { b: 1 }, c: 1 },
      ['spec.template.spec.b', 'spec.template.c'],
    ],
    ['/spec/constructor', {}, ['spec.constructor']],
  ] as const)('%s %j', (path, value, fields) => {
    expect(pruned(path, value)).toEqual(fields.map((field) => `${field} not-in-crd`));
  });

  it.each([
    ['/status', { phase: 'x', other: 'y' }, ['status status-subresource']],
    ['/status/phase', 'x', ['status.phase status-subresource']],
  ])('of the status is only written through the subresource: %s', (path, value, expected) => {
    expect(pruned(path, value)).toEqual(expected);
  });

  it('is judged by the stored version, and by that of the review if a webhook converts between them', () => {
    expect(pruned('/spec/old', 'x', 'v1')).toEqual([]);
    expect(pruned('/spec/old', 'x', 'v2')).toEqual([]);
    expect(pruned('/spec/new', 'x', 'v2')).toEqual(['spec.new not-in-crd']);
    expect(pruned('/spec/new', 'x', 'v2', crd({ conversion: { strategy: 'Webhook' } }))).toEqual([]);
    expect(pruned('/spec/x', 'x', 'v2', crd({ conversion: { strategy: 'Webhook' } }))).toEqual([
      'spec.x not-in-crd',
    ]);
    expect(pruned('/spec/x', 'x', 'v3')).toEqual([]);
  });

  it('is kept where nothing is pruned, or where nothing is known', () => {
    expect(pruned('/spec/x', 'x', 'v1', crd({ preserveUnknownFields: true }))).toEqual(['nothing is known']);
    expect(pruned('/x', 'x', 'v1', crd({ versions: [{ name: 'v1', storage: true }] }))).toEqual([]);
    let deep: Schema = object({});
    for (let level = 0; level < 200; level++) deep = object({ a: deep });
    const schema = { openAPIV3Schema: deep };
    expect(pruned('/x', 1, 'v1', crd({ versions: [{ name: 'v1', storage: true, schema }] }))).toEqual([
      'x not-in-crd',
    ]);
  });

  it('is named once, and no more of them than a person reads', () => {
    const value = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`f${index}`, 1]));
    expect(pruned('/spec', value)).toHaveLength(20);
  });
});

it('what a patch removes or overwrites again is no change', () => {
  const [x, y] = [
    { op: 'add', path: '/spec/x', value: 1 },
    { op: 'add', path: '/spec/y', value: 2 },
  ];
  const left = (...operations: Parameters<typeof changesOf>[0]) =>
    changesOf(operations).map(({ tokens }) => tokens.join('/'));
  expect(left(x!, y!, { op: 'remove', path: '/spec/x' })).toEqual(['spec/y']);
  expect(left(x!, { op: 'move', from: '/spec/x', path: '/spec/size' })).toEqual(['spec/size']);
  expect(left(x!, { op: 'replace', path: '/spec', value: {} }, y!)).toEqual(['spec', 'spec/y']);
  expect(left({ op: 'test', path: '/spec/x', value: 1 })).toEqual([]);
  expect(left({ op: 'replace', path: '', value: {} }, x!)).toEqual(['', 'spec/x']);
});
