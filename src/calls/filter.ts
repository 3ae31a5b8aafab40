import { type CallSummary, hasFailed, type ReconcileSummary } from '../report/call.ts';

/** Which calls or reconciles are listed. */
export interface CallFilter {
  kind?: string;
  /** A part of the object's name. */
  name?: string;
  namespace?: string;
  verb?: string;
  controller?: string;
  /** controller-runtime's ID of a reconcile, or the beginning of one. */
  reconcile?: string;
  /** Those that may have changed something. */
  writes?: true;
  /** Those that failed. */
  failed?: true;
  /** In milliseconds since 1970. */
  since?: number;
}

export function selectsCall(filter: CallFilter, call: CallSummary): boolean {
  const { kind, verb, writes, failed } = filter;
  const { resource = '' } = call;
  return (
    selects(filter, call) &&
    (kind === undefined || isKind(kind, call.kind) || isKind(kind, resource.split('/')[0])) &&
    (verb === undefined || call.verb === verb) &&
    (!writes || call.isWrite === true) &&
    (!failed || hasFailed(call))
  );
}

export function selectsReconcile(filter: CallFilter, record: ReconcileSummary): boolean {
  const { kind, controller, writes, failed } = filter;
  const { result, counts } = record;
  return (
    selects(filter, record) &&
    (kind === undefined || isKind(kind, record.kind)) &&
    (controller === undefined || record.controller.includes(controller)) &&
    (!writes || counts.writes > 0) &&
    (!failed || counts.failed > 0 || !SUCCEEDED.has(result))
  );
}

const SUCCEEDED = new Set(['success', 'requeue', 'requeue_after']);

function selects(
  { name, namespace, reconcile, since }: CallFilter,
  record: { at: string; name?: string; namespace?: string; reconcile?: string },
): boolean {
  return (
    (name === undefined || (record.name ?? '').includes(name)) &&
    (namespace === undefined || record.namespace === namespace) &&
    (reconcile === undefined || (record.reconcile ?? '').startsWith(reconcile)) &&
    (since === undefined || Date.parse(record.at) >= since)
  );
}

function isKind(wanted: string, kind = ''): boolean {
  return kind.toLowerCase() === wanted.toLowerCase();
}
