import type { CallSummary, ReconcileSummary } from '../../src/report/call.ts';
import type { ReviewSummary, WaitingReview } from '../../src/report/review.ts';
import type { SessionState } from '../../src/report/session-state.ts';

/** A review that was allowed. Its id and its object's name contain the number. */
export function reviewOf(number: number, more: Partial<ReviewSummary> = {}): ReviewSummary {
  return {
    id: `r-${String(number).padStart(6, '0')}`,
    at: '2026-11-22T10:15:02.114Z',
    kind: 'admission',
    webhook: 'vapplication.kb.io',
    path: '/validate',
    operation: 'CREATE',
    resource: { group: 'shop', version: 'v1', kind: 'Application' },
    object: { namespace: 'default', name: `web-${number}` },
    user: 'ann',
    verdict: 'allowed',
    ms: { held: 0, controller: 7, total: 8, budget: 10_000 },
    ...more,
  };
}

/** A review that has been held for 3.2 s. */
export function waitingReview(): WaitingReview {
  const { at, kind, webhook, path, operation, resource, object, user } = reviewOf(7);
  return {
    ...{ at, kind, webhook, path, operation: operation!, resource: resource!, object: object!, user: user! },
    ...{ waitsFor: 'release', ms: { total: 3_200, budget: 10_000 } },
  };
}

/** An update of a Deployment outside of any reconcile. */
export function callOf(number: number, more: Partial<CallSummary> = {}): CallSummary {
  return {
    id: `c-${String(number).padStart(6, '0')}`,
    at: '2026-11-22T10:15:02.200Z',
    verb: 'update',
    group: 'apps',
    resource: 'deployments',
    kind: 'Deployment',
    namespace: 'default',
    name: `web-${number}`,
    isWrite: true,
    code: 200,
    changes: ['~spec.replicas=2'],
    ms: 4.2,
    ...more,
  };
}

/** A reconcile that wrote nothing. */
export function reconcileOf(number: number, more: Partial<ReconcileSummary> = {}): ReconcileSummary {
  return {
    id: `k-${String(number).padStart(6, '0')}`,
    reconcile: `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`,
    at: '2026-11-22T10:15:02.150Z',
    controller: 'application',
    kind: 'Application',
    namespace: 'default',
    name: `web-${number}`,
    result: 'success',
    calls: [],
    counts: { writes: 0, reads: 0, failed: 0 },
    after: [],
    ms: 12.5,
    ...more,
  };
}

export const SERVING: SessionState = {
  session: 'abcd1234',
  name: 'shop-manager',
  phase: 'serving',
  build: { is: 'current', id: '3f2a91c 10:14:58 +dirty' },
  route: { name: 'direct', address: '10.99.1.1:39939', isOpen: true },
  isHeld: false,
  isFollowing: true,
  ignoredFiles: 0,
  held: 0,
  reviewsPerMinute: 12,
  hasController: true,
};
