import { expect, it } from 'vitest';
import { decodePatch, fieldOf, patchWords } from '../../../src/reviews/patch.ts';

it('says in a few words what a patch changes', () => {
  const operations = [
    { op: 'test', path: '/spec/replicas', value: 1 },
    { op: 'add', path: '/spec/replicas', value: 1 },
    { op: 'replace', path: '/spec/image', value: 'registry.example.com/team/web:1' },
    { op: 'remove', path: '/spec/old' },
    { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
  ];
  expect(patchWords(operations)).toEqual([
    '+spec.replicas=1',
    '~spec.image',
    '-spec.old',
    '+metadata.labels',
  ]);
});

it('has independent operations in the order of their paths, and all others as they are', () => {
  const [b, a] = [
    { op: 'add', path: '/spec/b', value: 1 },
    { op: 'replace', path: '/spec/a', value: 2 },
  ];
  expect(decodePatch(encoded(JSON.stringify([b, a])))).toEqual([a, b]);
  for (const dependent of [
    { op: 'add', path: '/spec/b/c', value: 3 },
    { op: 'remove', path: '/spec/list/0' },
  ])
    expect(decodePatch(encoded(JSON.stringify([b, a, dependent])))).toEqual([b, a, dependent]);
});

it.each([
  ['/metadata/annotations/a~1b', 'metadata.annotations[a/b]'],
  ['/spec/ports/0/name', 'spec.ports[0].name'],
  ['/a~01', '[a~1]'],
  ['', ''],
])('names the field of %s', (pointer, field) => {
  expect(fieldOf(pointer)).toBe(field);
});

it.each([undefined, '', 'not base64!', encoded('{}'), encoded('[1]'), encoded('[')])(
  'reads no patch from %s',
  (patch) => {
    expect(decodePatch(patch)).toBeUndefined();
  },
);

it('reads a patch', () => {
  expect(decodePatch(encoded('[{"op":"remove","path":"/a"}]'))).toEqual([{ op: 'remove', path: '/a' }]);
});

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}
