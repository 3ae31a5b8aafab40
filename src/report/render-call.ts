import { counted } from '../phrases.ts';
import type { CallSummary, CauseEvent, ReconcileSummary } from './call.ts';
import {
  afterText,
  amountOf,
  callWord,
  causeWords,
  changesText,
  type Detail,
  FULL,
  faultIn,
  mainCause,
  nameIn,
  ofResource,
  retryIn,
  retryWords,
  subjectOf,
  wordOf,
  writeWords,
} from './call-words.ts';
import type { DevloopEvent } from './events.ts';
import { firstFitting } from './fit.ts';
import { listedReview } from './render-review.ts';
import type { ReviewSection, ReviewSummary } from './review.ts';
import { clock, withoutSubject } from './review-words.ts';
import { type Colour, duration, firstColumn, indented, oneLine, type Paint, paintedRow } from './text.ts';

const MOST_WRITES = 3;

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

/** `columns`: the width of the terminal; absent without one. */
export function renderCall(event: CallEvent, paint: Paint, columns?: number): string {
  switch (event.type) {
    case 'call':
      return liveCall(event, paint, columns);
    case 'reconcile':
      return liveReconcile(event, paint, columns);
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

/** Tried in this order, until the row fits into the terminal. */
const DETAILS: Detail[] = [
  FULL,
  { changes: 1, cause: 'what and who' },
  { changes: 1, cause: 'who' },
  { changes: 0, cause: 'what and who' },
  { changes: 0, cause: 'who' },
  { changes: 1, cause: 'none' },
  { changes: 0, cause: 'none' },
];

/** A reconcile as it is printed while `up` runs, with the id that `devloop reconciles show` takes. */
function liveReconcile(reconcile: ReconcileSummary, paint: Paint, columns?: number): string {
  const { at, id } = reconcile;
  return firstFitting(
    DETAILS.map((detail) => () => {
      const text = reconcileText(reconcile, paint, detail);
      return paintedRow(
        paint,
        colourOf(reconcile),
        wordOf(reconcile),
        `${paint('dim', clock(at))}  ${text}  ${paint('dim', id)}`,
      );
    }),
    columns,
  );
}

/** The line that counts several reconciles of the same kind within a second. */
export function reconcileCount(reconcile: ReconcileSummary, count: number, paint: Paint): string {
  const { at, kind = '', controller } = reconcile;
  const text = `${paint('dim', clock(at))}  +${count}  ${kind}  ${paint('dim', controller)}`;
  return paintedRow(paint, colourOf(reconcile), wordOf(reconcile), oneLine(text));
}

/** The same for calls that belong to no reconcile. */
export function callCount({ name: _, ...call }: CallSummary, count: number, paint: Paint): string {
  const text = `${paint('dim', clock(call.at))}  +${count}  ${subjectOf(call)}`;
  return paintedRow(paint, callColour(call), callWord(call), oneLine(text));
}

/** The line that counts what a loop has done since the last one, after it was warned of. */
export function loopCount(
  last: Extract<DevloopEvent, { type: 'call' | 'reconcile' }>,
  count: number,
  paint: Paint,
): string {
  const { at, id } = last;
  const [colour, word, subject] =
    last.type === 'call'
      ? ([callColour(last), callWord(last), subjectOf(last)] as const)
      : ([colourOf(last), wordOf(last), nameIn(last)] as const);
  const text = `${paint('dim', clock(at))}  ${subject}  +${count} in its loop  ${paint('dim', id)}`;
  return paintedRow(paint, colour, word, oneLine(text));
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
  const { reconcile: uid, after, retryOf, calls, counts } = reconcile;
  const parts: [string, string[]][] = [
    [`Reconcile ${uid}`, [`${counts.writes} writes, ${counts.reads} reads, ${counts.failed} failed`]],
    [
      'After (the newest first)',
      [...(retryOf ? [retryWords(retryOf)] : []), ...after.map((one) => causeWords(one, reconcile))],
    ],
    [
      'Calls that wrote or failed',
      calls.map((one) =>
        `${one.id}  ${one.verb}  ${writeWords(one, reconcile)}  ${warnedText(one)}`.trimEnd(),
      ),
    ],
    ['Log', log],
  ];
  return parts.flatMap(([title, lines]) =>
    lines.length === 0 ? [] : [{ title, text: lines.map(oneLine).join('\n') }],
  );
}

/** A call that belongs to no reconcile, as it is printed while `up` runs. */
function liveCall(call: CallSummary, paint: Paint, columns?: number): string {
  return firstFitting(
    DETAILS.map((detail) => () => {
      const text = `${paint('dim', clock(call.at))}  ${callText(call, paint, detail)}  ${paint('dim', call.id)}`;
      return paintedRow(paint, callColour(call), callWord(call), text);
    }),
    columns,
  );
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
  const parts = sections.map(
    ({ title, text }) => `\n${paint('bold', oneLine(title))}\n  ${indented(text, 2)}`,
  );
  return [line, ...parts].join('\n');
}

function reconcileText(reconcile: ReconcileSummary, paint: Paint, detail = FULL): string {
  const { kind, namespace, name, calls, counts, error, ms, requeueAfterMs, build } = reconcile;
  const own = nameIn({ kind, namespace, name });
  const writes = calls.slice(0, MOST_WRITES).map((one) => writeWords(one, reconcile, detail.changes));
  const more = calls.length > MOST_WRITES ? `and ${calls.length - MOST_WRITES} more` : '';
  const said = [...writes, more].filter(Boolean).join(', ') || 'no write';
  const facts = [
    ...(more === '' ? [] : [counted(counts.writes, 'write')]),
    duration(ms),
    ...(requeueAfterMs === undefined ? [] : [`again in ${duration(requeueAfterMs)}`]),
    ...(build === undefined ? [] : [build]),
  ];
  const retry = detail.cause === 'none' ? undefined : retryIn(reconcile);
  const after = retry ? `; after: ${retry}` : afterText('; after', mainCause(reconcile), reconcile, detail);
  // Most errors are those of a call, which says it.
  const isSaid = calls.some(({ message }) => message && error?.includes(message));
  const failed = error === undefined || isSaid ? '' : `  ${paint('red', withoutSubject(error, name, kind))}`;
  return oneLine(`${own}  ${said}${failed}  ${paint('dim', `(${facts.join(', ')}${after})`)}`);
}

function callText(call: CallSummary, paint: Paint, detail = FULL): string {
  const { ms, build, message, isDryRun, kind, resource, name, after: [cause] = [] } = call;
  const facts = [
    ...amountOf(call),
    ...faultIn(call),
    duration(ms),
    ...(build === undefined ? [] : [build]),
  ].join(', ');
  const dry = isDryRun ? ' (dry run)' : '';
  const failed =
    message === undefined
      ? ''
      : `  ${paint('red', withoutSubject(message, name, kind, ofResource(resource)))}`;
  const after = afterText('; shortly after', cause, call, detail);
  const warned = call.warnings === undefined ? '' : `  ${paint('yellow', warnedText(call))}`;
  const said = `${subjectOf(call)}${changesText(call, detail.changes)}${dry}${failed}${warned}`;
  return oneLine(`${said}  ${paint('dim', `(${facts}${after})`)}`);
}

function warnedText({ warnings = [] }: Pick<CallSummary, 'warnings'>): string {
  return warnings.length === 0 ? '' : `warns: ${warnings.join('; ')}`;
}

function colourOf(reconcile: Pick<ReconcileSummary, 'result' | 'counts'>): Colour {
  const word = wordOf(reconcile);
  return word === 'reconciled' ? 'green' : word === 'cut off' ? 'yellow' : 'red';
}

function callColour(call: CallSummary): Colour {
  const word = callWord(call);
  return word === 'forbidden' || word === 'refused' ? 'red' : word === 'wrote' ? 'green' : 'dim';
}
