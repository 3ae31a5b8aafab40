import { counted, sizeText } from '../phrases.ts';
import type { CallSummary, CauseEvent, ReconcileCall, ReconcileSummary } from './call.ts';
import type { DevloopEvent } from './events.ts';
import { listedReview } from './render-review.ts';
import type { ReviewSection, ReviewSummary } from './review.ts';
import { clock } from './review-words.ts';
import { type Colour, duration, firstColumn, indented, oneLine, type Paint, paintedRow } from './text.ts';

const MOST_WRITES = 3;
const MOST_CHANGES = 3;

const TYPES = [
  'call',
  'reconcile',
  'calls.listed',
  'reconciles.listed',
  'timeline.changed',
  'timeline.logged',
] as const;
type CallEvent = Extract<DevloopEvent, { type: (typeof TYPES)[number] }>;

export function isAboutCalls(event: DevloopEvent): event is CallEvent {
  return TYPES.some((type) => type === event.type);
}

export function renderCall(event: CallEvent, paint: Paint): string {
  switch (event.type) {
    case 'call':
      return liveCall(event, paint);
    case 'reconcile':
      return liveReconcile(event, paint);
    case 'calls.listed':
      return listedCall(event, paint);
    case 'reconciles.listed':
      return listedReconcile(event, paint);
    case 'timeline.changed':
      return changedLine(event.change, paint);
    case 'timeline.logged':
      return withoutId(event.at, paint, oneLine(event.line), ['dim', 'logged']);
  }
}

/** A reconcile as it is printed while `up` runs, with the id that `devloop reconciles show` takes. */
function liveReconcile(reconcile: ReconcileSummary, paint: Paint): string {
  const text = `${paint('dim', clock(reconcile.at))}  ${reconcileText(reconcile, paint)}  ${paint('dim', reconcile.id)}`;
  return paintedRow(paint, colourOf(reconcile), wordOf(reconcile), text);
}

/** The line that counts several reconciles of the same kind within a second. */
export function reconcileCount(
  { kind = '', controller, ...more }: ReconcileSummary,
  count: number,
  paint: Paint,
): string {
  const one = { controller, ...more };
  return paintedRow(
    paint,
    colourOf(one),
    wordOf(one),
    oneLine(`+${count}  ${kind}  ${paint('dim', controller)}`),
  );
}

function listedReconcile(
  { reconcile, log, reviews }: Extract<CallEvent, { type: 'reconciles.listed' }>,
  paint: Paint,
): string {
  const { id, at, controller } = reconcile;
  const first = `${id}  ${paint('dim', clock(at))}  ${firstColumn(paint, colourOf(reconcile), wordOf(reconcile))}`;
  const line = `${first} ${reconcileText(reconcile, paint)}  ${paint('dim', oneLine(controller))}`;
  const sections = log === undefined ? [] : shownSections(reconcile, log);
  return withSections(line, [...sections, ...causedSection(reviews, paint)], paint);
}

/** A change of others, in the columns of a list. */
function changedLine(change: CauseEvent, paint: Paint): string {
  const { at, kind, namespace, name, what, by } = change;
  const who = by === undefined ? '' : `by ${by}`;
  const text = [nameIn({ kind, namespace, name }), changesText(change).trimStart(), who];
  return withoutId(at, paint, oneLine(text.filter(Boolean).join('  ')), ['green', what]);
}

function withoutId(at: string, paint: Paint, text: string, [colour, word]: [Colour, string]): string {
  return `${' '.repeat('k-000041'.length)}  ${paint('dim', clock(at))}  ${firstColumn(paint, colour, word)} ${text}`;
}

function shownSections(reconcile: ReconcileSummary, log: string[]): ReviewSection[] {
  const { reconcile: uid, after, calls, counts } = reconcile;
  const parts: [string, string[]][] = [
    [`Reconcile ${uid}`, [`${counts.writes} writes, ${counts.reads} reads, ${counts.failed} failed`]],
    ['After (the newest first)', after.map((one) => causeWords(one, reconcile))],
    [
      'Calls that wrote or failed',
      calls.map((one) => `${one.id}  ${one.verb}  ${writeWords(one, reconcile)}`),
    ],
    ['Log', log],
  ];
  return parts.flatMap(([title, lines]) =>
    lines.length === 0 ? [] : [{ title, text: lines.map(oneLine).join('\n') }],
  );
}

/** A call that belongs to no reconcile, as it is printed while `up` runs. */
function liveCall(call: CallSummary, paint: Paint): string {
  const text = `${paint('dim', clock(call.at))}  ${callText(call, paint)}  ${paint('dim', call.id)}`;
  return paintedRow(paint, callColour(call), callWord(call), text);
}

function listedCall(
  { call, sections = [], reviews }: Extract<CallEvent, { type: 'calls.listed' }>,
  paint: Paint,
): string {
  const first = `${call.id}  ${paint('dim', clock(call.at))}  ${firstColumn(paint, callColour(call), callWord(call))}`;
  const reconcile = call.reconcile === undefined ? '' : `  ${paint('dim', `in ${oneLine(call.reconcile)}`)}`;
  const line = `${first} ${callText(call, paint)}${reconcile}`;
  return withSections(line, [...sections, ...causedSection(reviews, paint)], paint);
}

function causedSection(reviews: ReviewSummary[] = [], paint: Paint): ReviewSection[] {
  const text = reviews.map((one) => listedReview(one, paint)).join('\n');
  return text === '' ? [] : [{ title: 'Reviews that it caused', text }];
}

function withSections(line: string, sections: ReviewSection[], paint: Paint): string {
  const parts = sections.map(({ title, text }) => `\n${paint('bold', title)}\n  ${indented(text, 2)}`);
  return [line, ...parts].join('\n');
}

function reconcileText(reconcile: ReconcileSummary, paint: Paint): string {
  const { kind, namespace, name, calls, counts, error, ms, requeueAfterMs, build } = reconcile;
  const own = nameIn({ kind, namespace, name });
  const writes = calls.slice(0, MOST_WRITES).map((one) => writeWords(one, reconcile));
  const more = calls.length > MOST_WRITES ? `and ${calls.length - MOST_WRITES} more` : '';
  const said = [...writes, more].filter(Boolean).join(', ') || 'no write';
  const facts = [
    ...(counts.writes > 0 ? [counted(counts.writes, 'write')] : []),
    duration(ms),
    ...(requeueAfterMs === undefined ? [] : [`again in ${duration(requeueAfterMs)}`]),
    ...(build === undefined ? [] : [build]),
  ];
  const cause = reconcile.after.find(asks) ?? reconcile.after[0];
  const after = cause === undefined ? '' : `; after: ${causeWords(cause, reconcile)}`;
  const failed = error === undefined ? '' : `  ${paint('red', error)}`;
  return oneLine(`${own}  ${said}${failed}  ${paint('dim', `(${facts.join(', ')}${after})`)}`);
}

function callText(call: CallSummary, paint: Paint): string {
  const { ms, build, message, isDryRun, after: [cause] = [] } = call;
  const facts = [...amountOf(call), duration(ms), ...(build === undefined ? [] : [build])].join(', ');
  const dry = isDryRun ? ' (dry run)' : '';
  const failed = message === undefined ? '' : `  ${paint('red', message)}`;
  const after = cause === undefined ? '' : `; shortly after: ${causeWords(cause, call)}`;
  return oneLine(
    `${subjectOf(call)}${changesText(call)}${dry}${failed}  ${paint('dim', `(${facts}${after})`)}`,
  );
}

/** How much a list or a watch got. */
function amountOf({ items, bytes }: CallSummary): string[] {
  return [
    ...(items === undefined ? [] : [counted(items, 'object')]),
    ...(bytes === undefined ? [] : [sizeText(bytes)]),
  ];
}

/** `create Deployment default/web`, `list pods in shop`, `get /version`. */
function subjectOf({ verb, path, resource = '', kind, namespace, name, selector }: CallSummary): string {
  if (path !== undefined) return `${verb} ${path}`;
  const [, subresource] = resource.split('/');
  const what = kind === undefined ? resource : [kind, subresource].filter(Boolean).join('/');
  if (name !== undefined) return `${verb} ${nameIn({ kind: what, namespace, name })}`;
  const which = selector === undefined ? '' : ` with ${selector}`;
  return `${verb} ${what}${namespace === undefined ? '' : ` in ${namespace}`}${which}`;
}

type Changed = Pick<CallSummary, 'changes' | 'more' | 'isUnchanged'>;

function changesText({ changes = [], more = changes.length, isUnchanged }: Changed): string {
  if (isUnchanged) return '  unchanged';
  const shown = changes.slice(0, MOST_CHANGES).join(' ');
  const rest = more > MOST_CHANGES ? ` and ${more - MOST_CHANGES} more` : '';
  return shown === '' ? '' : `  ${shown}${rest}`;
}

const DONE: Record<string, string> = { create: 'created ', delete: 'deleted ', deletecollection: 'deleted ' };

/** `created Deployment web`, `~status.ready=true` of the object itself, `delete pods: 403`. */
function writeWords(call: ReconcileCall, of: ReconcileSummary): string {
  const { verb, kind, resource = '', namespace, name = '', code, message } = call;
  const isSelf = kind === of.kind && name === of.name && (namespace ?? '') === (of.namespace ?? '');
  const where = namespace === of.namespace ? undefined : namespace;
  const what = nameIn({ kind: kind ?? resource, namespace: where, name });
  if (code === undefined || code >= 400) return `${verb} ${what}: ${code ?? ''} ${message ?? ''}`.trimEnd();
  const changes = changesText(call).trimStart();
  if (isSelf && changes !== '') return changes;
  return [`${DONE[verb] ?? (changes === '' ? 'wrote ' : '')}${what}`, changes].filter(Boolean).join(' ');
}

/** Whether the event is about what somebody wants, rather than what is reported. */
function asks({ what, changes = [] }: CauseEvent): boolean {
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
  return [object, changes, by === undefined ? '' : `by ${by}`].filter(Boolean).join(' ');
}

function nameIn({
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

function wordOf({ result, counts }: Pick<ReconcileSummary, 'result' | 'counts'>): string {
  if (result === 'error' || result === 'panic') return result === 'panic' ? 'panicked' : 'failed';
  return result === 'ended' ? 'cut off' : counts.failed > 0 ? 'refused' : 'reconciled';
}

function colourOf(reconcile: Pick<ReconcileSummary, 'result' | 'counts'>): Colour {
  const word = wordOf(reconcile);
  return word === 'reconciled' ? 'green' : word === 'cut off' ? 'yellow' : 'red';
}

function callWord({ code, isWrite, isUnchanged }: CallSummary): string {
  if (code === undefined || code >= 400) return code === 403 ? 'forbidden' : 'refused';
  return isUnchanged ? 'unchanged' : isWrite ? 'wrote' : 'read';
}

function callColour(call: CallSummary): Colour {
  const word = callWord(call);
  return word === 'forbidden' || word === 'refused' ? 'red' : word === 'wrote' ? 'green' : 'dim';
}
