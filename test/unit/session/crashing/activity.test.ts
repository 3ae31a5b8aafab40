import { expect, test } from 'vitest';
import type { ReconcileSummary } from '../../../../src/report/call.ts';
import { Activity } from '../../../../src/session/crashing/activity.ts';

const reconcile = (more: Partial<ReconcileSummary> = {}) => ({
  ...{
    type: 'reconcile' as const,
    id: 'k-1',
    reconcile: 'r',
    at: '',
    controller: 'shop',
    kind: 'Shop',
    namespace: 'a',
  },
  ...{
    name: 'web',
    result: 'success' as const,
    calls: [],
    counts: { writes: 0, reads: 0, failed: 0 },
    after: [],
    ms: 1,
  },
  ...more,
});
const READY = { type: 'controller.ready', pid: 1, ms: 1 } as const;
const WRITTEN = { calls: [{ id: 'c-1', verb: 'update', code: 200 }] };

function running(): Activity {
  const activity = new Activity();
  activity.observe(READY);
  return activity;
}

test('a controller that does not run is not at rest', () => {
  const activity = new Activity();
  expect(activity.unrest(0, false)).toBe('The controller does not run.');
  activity.observe(READY);
  expect(activity.unrest(0, false)).toBeUndefined();
  activity.observe({ type: 'controller.started', pid: 2, command: [], build: 'b' });
  expect(activity.unrest(0, false)).toBe('The controller does not run.');
});

test.each([
  ['wrote something', WRITTEN, true],
  ['was caused by an event', { after: [{ at: '', kind: 'Pod', name: 'p', what: 'changed' as const }] }, true],
  ['looked again, and changed nothing', {}, false],
  [
    'wrote what was there',
    { calls: [{ id: 'c-1', verb: 'update', code: 200, isUnchanged: true as const }] },
    false,
  ],
])('whether a reconcile that %s counts', async (_, more, counts) => {
  const activity = running();
  await new Promise((resolve) => setTimeout(resolve, 60));
  activity.observe(reconcile(more));
  expect(activity.unrest(50, false)).toEqual(counts ? expect.stringContaining('Shop a/web') : undefined);
});

test('an object whose last reconcile has failed is not at rest, unless it failed before the test', () => {
  const activity = running();
  activity.observe(reconcile({ result: 'error', error: 'no luck' }));
  expect(activity.unrest(0, false)).toBe('The last reconcile of Shop a/web has failed: no luck');
  activity.observe(reconcile());
  expect(activity.unrest(0, false)).toBeUndefined();
  activity.observe(reconcile({ result: 'error' }));
  activity.forgive();
  expect(activity.unrest(0, false)).toBeUndefined();
  activity.observe(reconcile({ name: 'other', result: 'panic' }));
  expect(activity.unrest(0, false)).toContain('Shop a/other');
});

test('a wait ends with the reason when its time is up, and only counts reconciles since the last start', async () => {
  const activity = running();
  const { signal } = new AbortController();
  activity.observe(reconcile());
  expect(await activity.rest({ quietMs: 0, limitMs: 100, reconciles: true }, signal)).toBeUndefined();
  activity.observe({ type: 'controller.started', pid: 2, command: [], build: 'b' });
  activity.observe(READY);
  const wait = activity.rest({ quietMs: 0, limitMs: 100, reconciles: true }, signal);
  expect(await wait).toBe('It has reconciled nothing.');
  await expect(activity.rest({ quietMs: 1_000, limitMs: 9_000 }, AbortSignal.abort())).rejects.toThrow();
});

test('without reconciles, any call counts', async () => {
  const activity = running();
  const hooks = activity.hooks({ served: () => {}, watched: () => {} });
  await new Promise((resolve) => setTimeout(resolve, 60));
  const call = { method: 'GET', path: '/', query: new URLSearchParams(), isDryRun: false };
  const resource = { group: 'apps', version: 'v1', resource: 'deployments' };
  hooks.begun?.({ ...call, verb: 'watch', resource });
  expect(activity.unrest(50, false)).toBeUndefined();
  hooks.begun?.({ ...call, verb: 'get', resource });
  expect(activity.unrest(50, false)).toContain('get deployments');
  expect(activity.versionOf({ group: 'apps', resource: 'deployments/status' })).toBe('v1');
});

test('of the log, warnings and errors of this run are kept', () => {
  const activity = running();
  const say = (line: string): void => activity.observe({ type: 'controller.output', stream: 'stderr', line });
  say('E0101 10:00:00.000000 1 x.go:1] before');
  activity.begin();
  say('2026-01-01T10:00:00Z\tINFO\tall is well');
  say('2026-01-01T10:00:00Z\tERROR\tno luck');
  expect(activity.lines).toEqual(['2026-01-01T10:00:00Z\tERROR\tno luck']);
  activity.observe({ type: 'controller.started', pid: 2, command: [], build: 'b' });
  expect(activity.lines).toEqual([]);
});

test('what had failed before the controller started again is not waited for: its object may be deleted', () => {
  const activity = running();
  activity.observe(reconcile({ result: 'error', error: 'no luck' }));
  activity.observe({ type: 'controller.started', pid: 2, command: [], build: 'b' });
  activity.observe(READY);
  expect(activity.unrest(0, false)).not.toContain('Shop');
});

test('what is known of a reconcile only after its process has ended is no work of the next process', () => {
  const activity = running();
  const at = new Date().toISOString();
  activity.observe({ type: 'controller.exited', pid: 1, code: null, signal: 'SIGKILL', expected: false });
  activity.observe({ type: 'controller.started', pid: 2, command: [], build: 'b' });
  activity.observe(reconcile({ at, result: 'error', error: 'EOF' }));
  activity.observe(READY);
  expect(activity.unrest(0, true)).toBe('It has reconciled nothing.');
  const later = new Date(Date.now() + 1_000).toISOString();
  activity.observe(reconcile({ at: later, result: 'error', error: 'no luck' }));
  expect(activity.unrest(0, true)).toContain('Shop a/web has failed: no luck');
});

test('a program that was started again is not at rest before it has called the API server', () => {
  const activity = running();
  const hooks = activity.hooks({ served: () => {}, watched: () => {} });
  const call = (verb: 'watch' | 'get', resource: string): void =>
    hooks.begun?.({
      ...{ method: 'GET', verb, path: '/', query: new URLSearchParams(), isDryRun: false },
      resource: { group: '', version: 'v1', resource },
    });
  activity.begin();
  activity.observe({ type: 'controller.started', pid: 2, command: [], build: 'b' });
  activity.observe(READY);
  call('get', 'leases');
  expect(activity.unrest(0, false)).toContain('has not called the API server');
  call('watch', 'pods');
  expect(activity.unrest(0, false)).toBeUndefined();
});
