import type { CauseEvent } from '../../../src/report/call.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { ReviewSummary } from '../../../src/report/review.ts';

/** The events about what a controller does and needs, with the text in every place where a text from outside may be. devloop itself numbers them. */
export function controllerEvents(text: string): DevloopEvent[] {
  const at = '2026-01-01T00:00:00Z';
  const object = { kind: text, namespace: text, name: text };
  const cause: CauseEvent = { at, ...object, what: 'changed', by: text, changes: [text] };
  const write = {
    ...{ id: 'c-000001', verb: text, ...object, resource: text, group: text, changes: [text] },
    ...{ warnings: [text], reviews: [text], faults: [text] },
  };
  const refused = { ...write, code: 409, message: text };
  const call = { ...write, at, selector: text, reconcile: text, after: [cause], ms: 1, build: text };
  const reconcile = {
    ...{ id: 'k-000001', reconcile: text, at, controller: text, ...object, error: text, build: text, ms: 1 },
    ...{ calls: [{ ...write, code: 200 }, refused], after: [cause], result: 'error' as const },
    counts: { writes: 1, reads: 0, failed: 1 },
  };
  const review: ReviewSummary = {
    ...{ id: 'r-000001', at, kind: 'admission', webhook: text, path: text, verdict: 'denied', message: text },
    ...{ operation: text, resource: { group: text, version: text, kind: text }, ...object, user: text },
    ms: { held: 0, controller: 1, total: 1, budget: 1 },
  } as ReviewSummary;
  const sections = [{ title: 'Object', text }];
  const role = { kind: text, namespace: text, name: text, file: text };
  const rule = { group: text, resource: text, verbs: [text], names: [text] };
  const planned = { action: 'change', ...write, message: text, diff: text } as const;
  const waits = { for: 'object', times: 2, of: object, error: text } as const;
  const cure = { marker: text, yaml: text, command: text };
  return [
    { type: 'call', ...call, code: 200, isWrite: true },
    { type: 'call', ...call, code: 403, message: text, isWrite: true },
    { type: 'reconcile', ...reconcile },
    { type: 'calls.listed', call: { ...call, path: text }, sections, reviews: [review] },
    { type: 'reconciles.listed', reconcile, log: [text], reviews: [review] },
    { type: 'timeline.changed', change: cause },
    { type: 'timeline.logged', at, reconcile: text, line: text },
    {
      ...{ type: 'rbac.compared', session: text, since: at, calls: 1, missing: 1 },
      ...{ account: { namespace: text, name: text }, cluster: [role], checkout: [role] },
    },
    { type: 'rbac.missing', ...rule, cluster: 'missing', namespaces: [text], calls: 1, refused: 1, cure },
    { type: 'rbac.unseen', verbs: [text], targets: [rule], names: [text], roles: [role] },
    {
      ...{ type: 'rbac.broad', what: 'names', names: [text], roles: [role], seen: [{ ...rule }] },
      rule: { apiGroups: [text], resources: [text], verbs: [text] },
    },
    { type: 'plan.write', write: { ...planned, waits } },
    { type: 'plan.write', write: { ...planned, action: 'refused' } },
    {
      type: 'plan.difference',
      revision: text,
      difference: { by: 'both', write: planned, instead: planned, diff: text },
    },
    { type: 'plan.compared', against: text, checkout: 1, revision: 1, both: 1, same: 1 },
    {
      type: 'faults.listed',
      session: text,
      faults: [{ id: '1', rule: text, seen: 1, met: 1, isOver: false }],
    },
    { type: 'controller.identity', how: 'token', account: text },
  ];
}
