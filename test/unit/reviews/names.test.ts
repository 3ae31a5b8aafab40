import { expect, it } from 'vitest';
import { type NamedCall, nameOf, type Rule } from '../../../src/reviews/names.ts';

const call = (name: string, rules?: Rule[], path = '/v'): NamedCall => ({
  path,
  name,
  ...(rules ? { rules } : {}),
});
const rule = (resources: string[], operations = ['CREATE'], apiGroups = ['']): Rule => ({
  resources,
  operations,
  apiGroups,
});
const asked = { path: '/v', resource: 'pods', group: '', operation: 'CREATE' };

it.each([
  ['by the path', [call('one'), call('other', undefined, '/w')], asked, 'one'],
  ['by the resource', [call('one', [rule(['pods'])]), call('other', [rule(['nodes'])])], asked, 'one'],
  [
    'by the operation',
    [call('one', [rule(['pods'])]), call('other', [rule(['pods'], ['DELETE'])])],
    asked,
    'one',
  ],
  [
    'by the group',
    [call('one', [rule(['*'], ['*'], ['apps'])]), call('other', [rule(['*'], ['*'], ['*'])])],
    asked,
    'other',
  ],
  [
    'by a subresource',
    [call('one', [rule(['pods'])]), call('other', [rule(['pods/*'])])],
    { ...asked, resource: 'pods/exec' },
    'other',
  ],
  ['all that match', [call('one', [rule(['*'])]), call('other', [rule(['*/*'])])], asked, 'one, other'],
  ['all of the path where the rules do not tell', [call('one', [rule(['nodes'])])], asked, 'one'],
  ['by the path where nothing is known', [], asked, '/v'],
])('names a webhook %s', (_, calls, review, name) => {
  expect(nameOf(calls, review)).toBe(name);
});
