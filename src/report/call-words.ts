import { counted, sizeText } from '../phrases.ts';
import {
  type CallSummary,
  type CauseEvent,
  hasFailed,
  type ReconcileCall,
  type ReconcileSummary,
  type RetriedReconcile,
} from './call.ts';
import { faultWords } from './fault.ts';
import { withoutSubject } from './review-words.ts';

/** How much a row says. `changes`: how many of each write; with 0, only what part of the object it wrote. */
export interface Detail {
  changes: number;
  cause: 'what and who' | 'who' | 'none';
}

export const FULL: Detail = { changes: 3, cause: 'what and who' };
/** `; after: created by ann`, `; after: ann` */
export function afterText(
  word: string,
  cause: CauseEvent | undefined,
  of: Parameters<typeof causeWords>[1],
  detail: Detail,
): string {
  if (cause === undefined || detail.cause === 'none') return '';
  if (detail.cause === 'what and who') return `${word}: ${causeWords(cause, of)}`;
  const who = cause.isOwn ? 'its own write' : writerName(cause.by);
  return who === undefined ? '' : `${word} ${who}`;
}

/** `create Deployment default/web`, `list pods in shop`, `get /version`. */
export function subjectOf({
  verb,
  path,
  resource = '',
  kind,
  namespace,
  name,
  selector,
}: CallSummary): string {
  if (path !== undefined) return `${verb} ${path}`;
  const [, subresource] = resource.split('/');
  const what = kind === undefined ? resource : [kind, subresource].filter(Boolean).join('/');
  if (name !== undefined) return `${verb} ${nameIn({ kind: what, namespace, name })}`;
  const which = selector === undefined ? '' : ` with ${selector}`;
  return `${verb} ${what}${namespace === undefined ? '' : ` in ${namespace}`}${which}`;
}

type Changed = Pick<CallSummary, 'changes' | 'more' | 'isUnchanged'>;

export function changesText(
  { changes = [], more = changes.length, isUnchanged }: Changed,
  most = FULL.changes,
): string {
  if (isUnchanged) return '  unchanged';
  if (changes.length === 0) return '';
  if (most === 0) return `  ${[...new Set(changes.map(partOf))].join(' ')}`;
  const rest = more > most ? ` and ${more - most} more` : '';
  return `  ${changes.slice(0, most).join(' ')}${rest}`;
}

/** `~spec` for `~spec.replicas=1` */
function partOf(change: string): string {
  return /^.[^.[=]*/.exec(change)?.[0] ?? change;
}

const DONE: Record<string, string> = { create: 'created ', delete: 'deleted ', deletecollection: 'deleted ' };

/** `created Deployment web`, `~status.ready=true` of the object itself, `delete pods: 403`. */
export function writeWords(call: ReconcileCall, of: ReconcileSummary, most = FULL.changes): string {
  const { verb, kind, resource = '', namespace, name = '', code, message = '' } = call;
  const isSelf = kind === of.kind && name === of.name && (namespace ?? '') === (of.namespace ?? '');
  const where = namespace === of.namespace ? undefined : namespace;
  const what = nameIn({ kind: kind ?? resource, namespace: where, name });
  if (hasFailed(call)) {
    const why = withoutSubject(message, name, kind, ofResource(resource));
    return [`${verb} ${what}:`, code, why, ...faultIn(call)].filter(Boolean).join(' ');
  }
  const changes = [changesText(call, most).trimStart(), ...faultIn(call)].filter(Boolean).join(' ');
  if (isSelf && changes !== '') return changes;
  if (most === 0 && changes !== '' && !call.isUnchanged) return `~${what}`;
  return [`${DONE[verb] ?? (changes === '' ? 'wrote ' : '')}${what}`, changes].filter(Boolean).join(' ');
}

/** What has become of a reconcile, in one word. */
export function wordOf({ result, counts }: Pick<ReconcileSummary, 'result' | 'counts'>): string {
  if (result === 'error' || result === 'panic') return result === 'panic' ? 'panicked' : 'failed';
  return result === 'ended' ? 'cut off' : counts.failed > 0 ? 'refused' : 'reconciled';
}

/** What has become of a call, in one word. */
export function callWord({ code, isWrite, isUnchanged }: CallSummary): string {
  if (hasFailed({ code })) return code === 403 ? 'forbidden' : 'refused';
  return isUnchanged ? 'unchanged' : isWrite ? 'wrote' : 'read';
}

/** How much a list or a watch got. */
export function amountOf({ items, bytes }: CallSummary): string[] {
  return [
    ...(items === undefined ? [] : [counted(items, 'object')]),
    ...(bytes === undefined ? [] : [sizeText(bytes)]),
  ];
}

/** `the error of k-000028`; undefined if the reconcile is no retry, or came after something that somebody asked for. */
export function retryIn({ after, retryOf }: Pick<ReconcileSummary, 'after' | 'retryOf'>): string | undefined {
  return retryOf === undefined || after.some(asks) ? undefined : retryWords(retryOf);
}

export function retryWords({ id, result }: RetriedReconcile): string {
  return `${RETRIES[result]} of ${id}`;
}

const RETRIES: Record<RetriedReconcile['result'], string> = {
  ...{ error: 'the error', panic: 'the panic', requeue: 'the requeue', requeue_after: 'the RequeueAfter' },
};

/** Of the events before a reconcile, the one that tells most. */
export function mainCause({ after }: Pick<ReconcileSummary, 'after'>): CauseEvent | undefined {
  return after.find(asks) ?? after[0];
}

/** Whether the event is about what somebody wants, rather than what is reported. */
export function asks({ what, changes = [] }: CauseEvent): boolean {
  return what !== 'changed' || changes.some((one) => !/^.(?:status|metadata)\b/.test(one));
}

/** `Deployment web ~status.readyReplicas=1 by kube-controller-manager`, `its own write of ~status.seen`. */
export function causeWords(
  cause: CauseEvent,
  of: Partial<Pick<ReconcileSummary, 'kind' | 'namespace' | 'name'>>,
): string {
  const { kind, namespace, name, what, by, isOwn } = cause;
  const isSelf = kind === of.kind && name === of.name && (namespace ?? '') === (of.namespace ?? '');
  const where = namespace === of.namespace ? undefined : namespace;
  const object = isSelf ? '' : nameIn({ kind, namespace: where, name });
  const changes = changesText(cause).trimStart() || what;
  if (isOwn) return `its own write of ${[object, changes].filter(Boolean).join(' ')}`;
  return [object, changes, by === undefined ? '' : `by ${writerName(by)}`].filter(Boolean).join(' ');
}

/** `kubectl apply` for `kubectl-client-side-apply`; others are named as in managedFields. */
function writerName(by: string | undefined): string | undefined {
  return by?.replace(/^kubectl-(?:client-side-)?(\w+)$/, 'kubectl $1');
}

/** `deployments` for `deployments/status` */
export function ofResource(resource: string | undefined): string | undefined {
  return resource?.split('/')[0];
}

export function nameIn({
  kind = '',
  namespace,
  name,
}: {
  kind?: string | undefined;
  namespace?: string | undefined;
  name: string;
}): string {
  const full = namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
  return kind === '' ? full : `${kind} ${full}`.trimEnd();
}

/** What the message of an answer that a fault gave says already is not said again. */
export function faultIn({ faults, message = '' }: Pick<CallSummary, 'faults' | 'message'>): string[] {
  return faults && !message.includes('injected by the fault') ? [faultWords(faults)] : [];
}
