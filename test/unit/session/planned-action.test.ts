import { expect, it } from 'vitest';
import type { Kind } from '../../../src/cluster/api/kinds.ts';
import { plannedAction } from '../../../src/session/end/dry-run.ts';

it.each<[Kind, string, 'restore' | 'delete']>([
  ['Service', 'webhook', 'restore'],
  ['Deployment', 'manager', 'restore'],
  ['Endpoints', 'webhook', 'restore'],
  ['Service', 'devloop-probe-ipv4-4f2a', 'delete'],
  ['EndpointSlice', 'webhook-devloop-4f2a', 'delete'],
  ['Pod', 'devloop-relay-4f2a-0b1c', 'delete'],
  ['Secret', 'devloop-relay-4f2a', 'delete'],
  ['Lease', 'devloop.service.webhook', 'delete'],
  ['ValidatingWebhookConfiguration', 'devloop-probe-4f2a-0b1c', 'delete'],
])('a dry run of down plans for %s %s: %s', (kind, name, action) => {
  const ref = { kind, namespace: 'shop', name };
  expect(plannedAction({ ref, sessionId: '4f2a', object: { metadata: ref } }, '4f2a')).toBe(action);
});

it('a dry run of down restores a slice that somebody made by hand', () => {
  const ref = { kind: 'EndpointSlice', namespace: 'shop', name: 'by-hand' } as const;
  const object = { metadata: { ...ref, annotations: { 'devloop.dev/undo': '{}' } } };
  expect(plannedAction({ ref, sessionId: '4f2a', object }, '4f2a')).toBe('restore');
});
