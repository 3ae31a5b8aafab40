import { expect, it } from 'vitest';
import { fieldLines } from '../../../src/page/fields.ts';
import { yaml } from '../../../src/reviews/objects.ts';

const object = {
  kind: 'Application',
  metadata: { name: 'web', labels: { 'app.kubernetes.io/name': 'web', 'a: b': 'c' } },
  spec: {
    image: 'nginx',
    script: 'one\nimage: in a text\n  ports:\n',
    ports: [
      { name: 'http', number: 80 },
      { number: 443, name: 'https' },
    ],
    args: ['-v', '--image: no'],
    empty: [],
  },
};
const text = yaml(object);
const shown = (path: string): [string[], boolean] => {
  const { lines, isThere } = fieldLines(text, path);
  return [lines.map((at) => text.split('\n')[at]!.trim()), isThere];
};

it.each<[string, string[]]>([
  ['kind', ['kind: Application']],
  ['spec.image', ['image: nginx']],
  ['spec.ports[0].name', ['- name: http']],
  ['spec.ports[1].name', ['name: https']],
  ['spec.ports[].name', ['- name: http', 'name: https']],
  ['spec.args[1]', ['- "--image: no"']],
  ['metadata.labels[app.kubernetes.io/name]', ['app.kubernetes.io/name: web']],
  ['metadata.labels[a: b]', ['"a: b": c']],
])('%s is there', (path, lines) => {
  expect(shown(path)).toEqual([lines, true]);
});

it.each<[string, string[]]>([
  ['spec.replicas', ['spec:']],
  ['spec.ports[2].name', ['ports:']],
  ['spec.ports[0].protocol', ['- name: http']],
  ['status.ready', []],
  ['spec.script.image', ['script: |']],
  ['spec.empty[0]', ['empty: []']],
])('of %s, which is missing, the nearest field is found', (path, lines) => {
  expect(shown(path)).toEqual([lines, false]);
});

it.each(['', '[', ']]', '...', '[]', 'spec['])('%j is nothing, and harmless', (path) => {
  expect(fieldLines('a: 1', path).isThere).toBe(false);
});
