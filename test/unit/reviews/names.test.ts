import { expect, it } from 'vitest';
import { type NamedCall, nameOf, type Rule, sideEffectsOf, typeOf } from '../../../src/reviews/names.ts';

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

it.each([
  ['Some', ['Some'], 'Some'],
  ['Unknown', ['Unknown'], 'Unknown'],
  ['none, also not in a dry run', ['None', 'NoneOnDryRun', undefined], undefined],
  ['those of any webhook that can be meant', ['None', 'Some'], 'Some'],
])('side effects that a webhook declares for dry runs: %s', (_, declared, found) => {
  const calls = declared.map((sideEffects) => ({ ...call('one'), ...(sideEffects ? { sideEffects } : {}) }));
  expect(sideEffectsOf(calls, asked)).toBe(found);
  // A webhook for other objects does not count.
  const other = { ...call('other', [rule(['nodes'])]), sideEffects: 'Some' };
  expect(sideEffectsOf([other, ...calls.map((one) => ({ ...one, rules: [rule(['pods'])] }))], asked)).toBe(
    found,
  );
});

it('says whether a webhook mutates or validates, if that is certain', () => {
  const from = (kind: string, path = '/one') => ({ path, name: kind, from: { kind } });
  const mutating = from('MutatingWebhookConfiguration');
  const validating = from('ValidatingWebhookConfiguration');
  const asked = { path: '/one' };
  expect(typeOf([mutating, from('ValidatingWebhookConfiguration', '/other')], asked)).toBe('mutating');
  expect(typeOf([validating], asked)).toBe('validating');
  expect(typeOf([mutating, validating], asked)).toBeUndefined();
  expect(typeOf([from('CustomResourceDefinition')], asked)).toBeUndefined();
  expect(typeOf([], asked)).toBeUndefined();
});
