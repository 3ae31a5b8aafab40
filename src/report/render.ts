import { counted } from '../phrases.ts';
import type { ChangeAction } from './change.ts';
import type { DevloopEvent, Verdict } from './events.ts';
import { manifestText } from './manifest.ts';
import { isAboutCalls, renderCall } from './render-call.ts';
import { isOfControl, renderControl } from './render-control.ts';
import { isAboutRbac, renderRbac } from './render-rbac.ts';
import {
  comparedReviews,
  lateLine,
  listedReview,
  liveReview,
  replayedReview,
  shownReview,
  waitingReview,
} from './render-review.ts';
import { renderSession } from './render-session.ts';
import { renderStatus } from './render-status.ts';
import { isOfTrial, renderTrial } from './render-trial.ts';
import { type Colour, duration, indented, objectText, oneLine, type Paint, row, withHint } from './text.ts';

export type PrintedEvent = Exclude<DevloopEvent, { type: 'waiting' }>;
type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

/** The lines of an event whose texts are safe already. `columns`: the width of the terminal; absent without one. */
export function render(event: PrintedEvent, paint: Paint, columns?: number): string {
  switch (event.type) {
    case 'discovered':
      return row(event.what, `${oneLine(event.value)}  ${paint('dim', `(${oneLine(event.source)})`)}`);
    case 'setting':
      return renderSetting(event, paint);
    case 'warning':
      return withHint(`${paint('yellow', 'warning:')} ${indented(event.message, 2)}`, event.hint, paint);
    case 'note':
      return row('note', event.message);
    case 'change':
      return renderChange(event);
    case 'certificate.written':
      return row('certificate', `${event.directory}  ${paint('dim', certificateFacts(event))}`);
    case 'finding':
      return renderFinding(event, paint);
    case 'review':
      return liveReview(event, paint, columns);
    case 'page.served':
      return pageText(event, paint);
    case 'review.late':
      return lateLine(event.id, event.late, paint);
    case 'reviews.listed':
      return listedReview(event.review, paint);
    case 'reviews.waiting':
      return waitingReview(event.review, paint);
    case 'manifest':
      return row('manifests', oneLine(manifestText(event)));
    case 'reviews.set':
      return row(oneLine(event.name), oneLine(`${counted(event.reviews, 'review')}  ${event.file}`));
    case 'reviews.replayed':
      return replayedReview(event, paint);
    case 'reviews.compared':
      return comparedReviews(event, paint);
    case 'reviews.shown':
      return shownReview(event, paint);
    case 'status':
      return renderStatus(event, paint);
    case 'error':
      return withHint(`${paint('red', 'error:')} ${indented(event.message, 2)}`, event.hint, paint);
    default:
      if (isOfControl(event)) return renderControl(event, paint);
      if (isAboutRbac(event)) return renderRbac(event, paint);
      if (isOfTrial(event)) return renderTrial(event, paint);
      return isAboutCalls(event) ? renderCall(event, paint, columns) : renderSession(event, paint, columns);
  }
}

/** The text about the page. The address stays in one piece, so that it can be copied. */
function pageText({ url, opened, tunnel }: Of<'page.served'>, paint: Paint): string {
  if (opened) return row('page', `${url} (opened in your browser)`);
  const hint = tunnel === undefined ? `open ${url}` : `on your own machine: ${tunnel}\nthen open ${url}`;
  return withHint(row('page', 'no browser could be opened on this machine'), hint, paint);
}

const DONE: Record<ChangeAction, string> = {
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  restore: 'restored',
};

function verbOf({ action, dryRun }: Of<'change'>): string {
  return dryRun ? `would ${action}` : DONE[action];
}

/** The changed fields of an object, one line each. */
function fieldsText({ fields = [] }: Of<'change'>): string {
  const text = (value: unknown): string => (value === null ? 'absent' : JSON.stringify(value));
  return fields
    .map(({ path, now, after }) => `\n  ${oneLine(`${path}: ${text(now)} -> ${text(after)}`)}`)
    .join('');
}

function certificateFacts({ notAfter, source }: Of<'certificate.written'>): string {
  return oneLine(`(${source}, valid until ${notAfter.slice(0, 'yyyy-mm-dd'.length)})`);
}

const VERDICT_COLOURS: Record<Verdict, Colour> = {
  ok: 'green',
  warn: 'yellow',
  fail: 'red',
  info: 'dim',
  unknown: 'dim',
};
const VERDICT_COLUMN = 8;
const CHECK_COLUMN = 16;
const TEXT_AT = VERDICT_COLUMN + CHECK_COLUMN + 2;

/** Verdict, check and answer in columns; proof and hint below the answer. The verdict is a word, so it can be read without colours. */
function renderChange(event: Of<'change'>): string {
  return row(
    verbOf(event),
    `${event.route ? '  ' : ''}${objectText(event.object)}  ${oneLine(event.detail)}${fieldsText(event)}`,
  );
}

function renderSetting({ key, value, otherwise, from }: Of<'setting'>, paint: Paint): string {
  const shown =
    value === undefined ? `(${otherwise})` : typeof value === 'string' ? value : JSON.stringify(value);
  return `${key.padEnd(25)} ${oneLine(shown)}  ${paint('dim', `(${from.join(', ')})`)}`;
}

function renderFinding(finding: Of<'finding'>, paint: Paint): string {
  const { verdict, check, answer, proof, latencyMs, hint } = finding;
  const took = latencyMs === undefined ? '' : `  ${paint('dim', `(${duration(latencyMs)})`)}`;
  const mark = paint(VERDICT_COLOURS[verdict], verdict.padEnd(VERDICT_COLUMN));
  const below = ' '.repeat(TEXT_AT);
  return [
    `${mark} ${check.padEnd(CHECK_COLUMN)} ${indented(answer, TEXT_AT)}${took}`,
    ...(proof === undefined ? [] : [`${below}${paint('dim', indented(proof.join('\n'), TEXT_AT))}`]),
    ...(hint === undefined ? [] : [`${below}${paint('bold', '→ next:')} ${indented(hint, TEXT_AT + 2)}`]),
  ].join('\n');
}
