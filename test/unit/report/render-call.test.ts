import { expect, test } from 'vitest';
import type { CallSummary, CauseEvent, ReconcileSummary } from '../../../src/report/call.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { isAboutCalls, renderCall } from '../../../src/report/render-call.ts';

const plain = (_: string, text: string): string => text;

function rendered(event: DevloopEvent, columns?: number): string {
  if (!isAboutCalls(event)) throw new Error('not about calls');
  // Local times depend on the machine.
  return renderCall(event, plain, columns)
    .replace(/\d\d:\d\d:\d\d/, '<time>')
    .replace(/ {2,}/g, '  ');
}

const RECONCILE: ReconcileSummary = {
  ...{ id: 'k-000012', reconcile: 'uid', at: '2026-01-01T00:00:00Z', controller: 'shop' },
  ...{ kind: 'Shop', namespace: 'default', name: 'main', result: 'success', ms: 41.2, build: 'b2' },
  ...{ calls: [], counts: { writes: 0, reads: 0, failed: 0 }, after: [] },
};
const WEB = { kind: 'Deployment', namespace: 'default', name: 'web' };
const CREATED = { id: 'c-1', verb: 'create', resource: 'deployments', ...WEB, code: 201 };
const STATUS = {
  ...{ id: 'c-2', verb: 'patch', resource: 'shops/status', code: 200 },
  ...{ kind: 'Shop', namespace: 'default', name: 'main', changes: ['~status.ready=true'] },
};
const AT = '2026-01-01T00:00:01Z';
const SCALED: CauseEvent = { at: AT, ...WEB, what: 'changed', by: 'kubectl', changes: ['~spec.replicas=3'] };
const REPORTED: CauseEvent = {
  at: AT,
  ...WEB,
  what: 'changed',
  by: 'kube-controller-manager',
  changes: ['~status.replicas=3'],
};

test.each<[string, Partial<ReconcileSummary>, string]>([
  ['without a write', {}, 'reconciled  <time>  Shop default/main  no write  (41 ms, b2)  k-000012'],
  [
    'that wrote',
    { calls: [CREATED, STATUS], counts: { writes: 2, reads: 0, failed: 0 } },
    'reconciled  <time>  Shop default/main  created Deployment web, ~status.ready=true  (41 ms, b2)  k-000012',
  ],
  [
    'after somebody asked for something, although others have reported since',
    { after: [REPORTED, SCALED] },
    'reconciled  <time>  Shop default/main  no write  (41 ms, b2; after: Deployment web ~spec.replicas=3 by kubectl)  k-000012',
  ],
  [
    'after its own write',
    {
      after: [
        {
          at: AT,
          kind: 'Shop',
          namespace: 'default',
          name: 'main',
          what: 'changed',
          isOwn: true,
          changes: ['~status.seen'],
        },
      ],
    },
    'reconciled  <time>  Shop default/main  no write  (41 ms, b2; after: its own write of ~status.seen)  k-000012',
  ],
  [
    'that is a retry',
    { after: [], retryOf: { id: 'k-000011', result: 'error' } },
    'reconciled  <time>  Shop default/main  no write  (41 ms, b2; after: the error of k-000011)  k-000012',
  ],
  [
    'that failed',
    { result: 'error', error: 'boom', requeueAfterMs: 2_000 },
    'failed  <time>  Shop default/main  no write  boom  (41 ms, again in 2.0 s, b2)  k-000012',
  ],
])('a reconcile %s', (_, more, line) => {
  expect(rendered({ type: 'reconcile', ...RECONCILE, ...more })).toBe(line);
});

const CONFLICT = {
  ...{ id: 'c-3', verb: 'update', resource: 'deployments', namespace: 'default', name: 'web', code: 409 },
  message:
    'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again',
};
const UPDATED = {
  ...{ id: 'c-4', verb: 'update', resource: 'deployments', ...WEB, code: 200 },
  changes: ['~spec.replicas=1', '~spec.paused'],
};
const APPLIED: CauseEvent = {
  at: AT,
  ...{ kind: 'Shop', namespace: 'default', name: 'main', what: 'created', by: 'kubectl-client-side-apply' },
};

test.each<[string, Partial<ReconcileSummary>, string]>([
  [
    'names the object of a refused write once, and its reason once',
    { result: 'error', calls: [CONFLICT], error: `cannot scale: ${CONFLICT.message}` },
    'failed  <time>  Shop default/main  update deployments web: 409 the object has been modified  (41 ms, b2)  k-000012',
  ],
  [
    'says that the object of a call is not there, and not its name again',
    { calls: [{ ...CONFLICT, code: 404, message: 'deployments.apps "web" not found' }] },
    'reconciled  <time>  Shop default/main  update deployments web: 404 not found  (41 ms, b2)  k-000012',
  ],
  [
    'does not repeat the object that the error names',
    { result: 'error', error: 'Shop.example.com "main" is invalid: spec.size: Required value' },
    'failed  <time>  Shop default/main  no write  spec.size: Required value  (41 ms, b2)  k-000012',
  ],
])('a reconcile that failed %s', (_, more, line) => {
  expect(rendered({ type: 'reconcile', ...RECONCILE, ...more })).toBe(line);
});

test('a reconcile that does not fit into one row says what fits into two', () => {
  const error = 'the spec is not as it has to be, so nothing was done at all '.repeat(2);
  const { build: _, ...reconcile } = { ...RECONCILE, calls: [UPDATED], error, result: 'error' as const };
  expect(rendered({ type: 'reconcile', ...reconcile }, 190)).toContain('Deployment web ~spec.replicas=1 ');
  expect(rendered({ type: 'reconcile', ...reconcile }, 115)).toContain('~Deployment web  ');
});

test.each([
  [
    160,
    'Deployment web ~spec.replicas=1 ~spec.paused, ~status.ready=true  (41 ms; after: created by kubectl apply)',
  ],
  [
    158,
    'Deployment web ~spec.replicas=1 and 1 more, ~status.ready=true  (41 ms; after: created by kubectl apply)',
  ],
  [146, 'Deployment web ~spec.replicas=1 and 1 more, ~status.ready=true  (41 ms; after kubectl apply)'],
  [120, '~Deployment web, ~status  (41 ms; after: created by kubectl apply)'],
  [110, '~Deployment web, ~status  (41 ms; after kubectl apply)'],
  [90, '~Deployment web, ~status  (41 ms)'],
])('a reconcile says what fits into one row of %i columns', (columns, text) => {
  const { build: _, ...reconcile } = { ...RECONCILE, calls: [UPDATED, STATUS], after: [APPLIED] };
  expect(rendered({ type: 'reconcile', ...reconcile }, columns)).toBe(
    `reconciled  <time>  Shop default/main  ${text}  k-000012`,
  );
});

test.each<[Partial<CallSummary>, string]>([
  [
    { code: 200, changes: ['~spec.replicas=1'] },
    'wrote  <time>  patch Deployment default/web  ~spec.replicas=1  (3 ms)  c-7',
  ],
  [
    { code: 200, isUnchanged: true },
    'unchanged  <time>  patch Deployment default/web  unchanged  (3 ms)  c-7',
  ],
  [{ code: 403, message: 'no' }, 'forbidden  <time>  patch Deployment default/web  no  (3 ms)  c-7'],
  [{ message: 'no answer' }, 'refused  <time>  patch Deployment default/web  no answer  (3 ms)  c-7'],
  [
    { code: 200, after: [SCALED] },
    'wrote  <time>  patch Deployment default/web  (3 ms; shortly after: ~spec.replicas=3 by kubectl)  c-7',
  ],
])('a call outside of reconciles: %j', (more, line) => {
  const call = { id: 'c-7', at: '2026-01-01T00:00:00Z', verb: 'patch', resource: 'deployments', ms: 3 };
  expect(rendered({ type: 'call', isWrite: true, ...call, ...WEB, ...more })).toBe(line);
});

test('what others changed, and what was logged, are in the columns of a list', () => {
  expect(rendered({ type: 'timeline.changed', change: SCALED })).toBe(
    '  <time>  changed  Deployment default/web  ~spec.replicas=3  by kubectl',
  );
  expect(rendered({ type: 'timeline.logged', at: AT, reconcile: 'uid', line: 'INFO\n done' })).toBe(
    '  <time>  logged  INFO done',
  );
});
