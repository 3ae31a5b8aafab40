import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { isRule, NoRule, parseRule } from '../../../src/faults/parse.ts';

it.each<[string, object]>([
  [
    '409 update deployments',
    { effect: { do: 'answer', code: 409 }, verbs: ['update'], resource: { plural: 'deployments' } },
  ],
  ['429 list', { effect: { do: 'answer', code: 429, retryAfterSeconds: 1 }, verbs: ['list'] }],
  ['429 list retry-after=7', { effect: { do: 'answer', code: 429, retryAfterSeconds: 7 } }],
  ['delay=1.5s get,list pods', { effect: { do: 'delay', ms: 1_500 }, verbs: ['get', 'list'] }],
  ['refuse', { effect: { do: 'refuse' } }],
  ['drop pods', { effect: { do: 'drop' }, verbs: ['watch'], resource: { plural: 'pods' } }],
  ['cut watch', { effect: { do: 'cut' }, verbs: ['watch'] }],
  [
    '503 write widgets.shop.example.com/status',
    { resource: { plural: 'widgets', group: 'shop.example.com', subresource: 'status' } },
  ],
  ['409 update widgets/*', { resource: { plural: 'widgets', subresource: '*' } }],
  ['500 review widgets name=a-* namespace=shop', { verbs: ['review'], name: 'a-*', namespace: 'shop' }],
  ['409 update share=25% seed=7 count=3 for=2m', { share: { of: 0.25, seed: 7 }, count: 3, forMs: 120_000 }],
  ['409 update nth=2', { nth: 2 }],
  ['crash update nth=2', { effect: { do: 'crash', when: 'after' }, verbs: ['update'], nth: 2 }],
  ['crash-before pods count=3', { effect: { do: 'crash', when: 'before' }, count: 3 }],
  ['403 * name=*', { effect: { do: 'answer', code: 403 }, name: '*' }],
])('"%s" is a fault', (text, expected) => {
  expect(parseRule(text)).toMatchObject({ text, ...expected });
});

it.each([
  ['', 'begins with what'],
  ['418 update', 'begins with what'],
  ['409 update Deployments', 'neither a verb nor a resource'],
  ['409 update deployments more', 'comes after the resource'],
  ['409 updat deployments', '"updat" is no verb, and "deployments" comes after it. Did you mean update?'],
  ['409 frobnicate pods', '"frobnicate" is no verb, and "pods" comes after it. Verbs are get, list,'],
  ['409 update nmae=web', 'nmae= is not known'],
  ['409 update name=a/b', 'is no name'],
  ['409 update share=0', 'expected a share'],
  ['409 update share=120%', 'expected a share'],
  ['409 update count=0', 'expected a number'],
  ['409 update for=2d', 'is no time'],
  ['delay=25h get', 'is no time'],
  ['409 update retry-after=x', 'expected a number'],
  ['delay=1s get retry-after=1', 'only for answers'],
  ['drop update', 'only for watches'],
  ['409 review', 'A review can be delayed'],
  ['refuse review', 'A review can be delayed'],
  ['500 review,get', 'not both'],
  ['crash get', 'killed at a write'],
  ['crash review', 'killed at a write'],
  ['409 update nth=1 share=50%', 'cannot be combined'],
  ['409 update seed=7', 'needs share='],
  ['409 update count=1 name=a count=2', 'count= is there twice'],
  ['429 list retry-after=1 retry-after=2', 'retry-after= is there twice'],
  ['409 update share=50% seed=99999999999', 'expected a number below'],
  [`409 update name=${'a'.repeat(600)}`, 'more than 500 characters'],
])('"%s" is none, and it says why', (text, why) => {
  expect(() => parseRule(text)).toThrow(why);
  expect(isRule(text)).toBe(false);
});

test('a share without a seed gets one, so that the text repeats the choices', () => {
  const { text, share } = parseRule('409 update share=50%');
  expect(text).toBe(`409 update share=50% seed=${share!.seed}`);
  expect(parseRule(text)).toEqual(parseRule(text));
});

test('a controller is killed once, unless the fault says otherwise', () => {
  expect(parseRule('crash update')).toMatchObject({ text: 'crash update count=1', count: 1 });
});

test('any text is a fault or says why not', () => {
  const word = fc.constantFrom(
    '409',
    'delay=',
    '=',
    'watch',
    'review',
    'share=',
    '%',
    '/',
    '.',
    '*',
    ' ',
    'a',
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(word).map((words) => words.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      try {
        expect(parseRule(text).text).toMatch(/\S/);
      } catch (error) {
        expect(error).toBeInstanceOf(NoRule);
      }
    }),
  );
});
