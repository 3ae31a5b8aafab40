import { counted, firstOf } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import { faultWords } from './fault.ts';
import { firstFitting } from './fit.ts';
import { describe } from './object-name.ts';
import type {
  AlikeReview,
  LateAnswer,
  ReviewCause,
  ReviewSummary,
  ReviewVerdict,
  WaitingReview,
} from './review.ts';
import {
  byAnyUser,
  byUser,
  changesIn,
  clock,
  lateWords,
  prunedWords,
  shortName,
  shortTimeOf,
  subject,
  timeOf,
  WAITS,
  withoutSubject,
} from './review-words.ts';
import {
  type Colour,
  duration,
  firstColumn,
  indented,
  limitText,
  oneLine,
  type Paint,
  paintedRow,
} from './text.ts';

const COLOURS: Record<ReviewVerdict, Colour> = {
  allowed: 'green',
  converted: 'green',
  denied: 'red',
  failed: 'red',
  'answered-by-devloop': 'yellow',
  unanswered: 'yellow',
};

/**
 * Operation and object, user, webhook, what the webhook answered or changed, and the `facts` (the times, and the build that answered), on
 * one line. A list has thousands of them, which are printed before V8 optimizes anything, so this makes no arrays.
 */
function reviewText(
  review: ReviewSummary,
  paint: Paint,
  { user, facts, most }: { user: string; facts: string; most?: number },
): string {
  const { verdict, message, object, resource, warnings = NONE, patch = NONE, late } = review;
  let text = subject(review);
  if (user !== '') text += ` ${paint('dim', user)}`;
  text += `  ${paint('dim', shortName(review.webhook))}`;
  if (verdict !== 'allowed' && message) text += `  ${withoutSubject(message, object?.name, resource?.kind)}`;
  if (patch.length > 0) text += `  ${changesIn(review, most)}`;
  if (review.pruned) text += `  ${paint('yellow', prunedWords(review))}`;
  if (warnings.length > 0) text += `  ${paint('yellow', `warns: ${warnings.join('; ')}`)}`;
  text += `  ${paint('dim', facts)}`;
  if (review.faults) text += `  ${paint('yellow', faultWords(review.faults))}`;
  if (late) text += `  ${paint('yellow', `later: ${lateWords(late)}`)}`;
  if (review.isOldBuild) text += `  ${paint('yellow', 'the old build answered')}`;
  return oneLine(text);
}

const NONE: string[] = [];

type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

function factsOf(time: string, build: string | undefined): string {
  return build ? `(${time}, ${build})` : `(${time})`;
}

/** How many of its changes a review names, until its row fits into the terminal. */
const CHANGES = [4, 2, 1, 0];

/** A review as it is printed while `up` runs, with the id that `devloop reviews show` takes. */
export function liveReview(review: ReviewSummary, paint: Paint, columns?: number): string {
  const { verdict, id, at, build } = review;
  const facts = factsOf(shortTimeOf(review), build);
  return firstFitting(
    CHANGES.map((most) => () => {
      const text = reviewText(review, paint, { user: byUser(review), facts, most });
      return paintedRow(
        paint,
        COLOURS[verdict],
        verdict,
        `${paint('dim', clock(at))}  ${text}  ${paint('dim', id)}`,
      );
    }),
    columns,
  );
}

/** The line about a late answer to a review that was printed before. */
export function lateLine(id: string, late: LateAnswer, paint: Paint): string {
  return paintedRow(paint, COLOURS[late.verdict], 'late', oneLine(`${id}  ${lateWords(late)}`));
}

/** The line that counts several reviews of the same kind within a second. */
export function reviewCount(review: ReviewSummary, count: number, paint: Paint): string {
  const { verdict, operation = '', resource, at } = review;
  const what = [operation, resource?.kind].filter(Boolean).join(' ');
  const text = `${paint('dim', clock(at))}  +${count}  ${what}  ${paint('dim', shortName(review.webhook))}`;
  return paintedRow(paint, COLOURS[verdict], verdict, oneLine(text));
}

/** A review in a list, in which all lines name the user: see byAnyUser. */
export function listedReview(review: ReviewSummary, paint: Paint): string {
  const { id, at, verdict, build } = review;
  const facts = factsOf(timeOf(review), build);
  const first = `${id}  ${paint('dim', clock(at))}  ${firstColumn(paint, COLOURS[verdict], verdict)}`;
  return `${first} ${reviewText(review, paint, { user: byAnyUser(review.user), facts })}`;
}

/** A review without an answer, and so without an id, in the columns of a list. */
export function waitingReview(review: WaitingReview, paint: Paint): string {
  const until = review.waitsFor === 'release' ? ' until h, or `devloop release`' : '';
  const how = `(${timeOf(review)}, ${WAITS[review.waitsFor]}${until})`;
  const who = [subject(review), paint('dim', oneLine(byUser(review)))].filter(Boolean).join(' ');
  const text = [who, paint('dim', shortName(review.webhook)), paint('dim', how)];
  const line = paintedRow(paint, 'yellow', 'waiting', text.map(oneLine).join('  '));
  return `${' '.repeat('r-000041'.length)}  ${paint('dim', clock(review.at))}  ${line}`;
}

export function shownReview({ review, sections, cause }: Of<'reviews.shown'>, paint: Paint): string {
  const { ms, user, path } = review;
  const { build, isOldBuild } = review;
  const old = isOldBuild ? ', the old one: newer sources did not build or start' : '';
  const facts = [
    ...(user === undefined ? [] : [`by ${user}`]),
    `on ${path}`,
    `held ${duration(ms.held)}, answered after ${duration(ms.controller)} of ${limitText(ms.budget)}`,
    ...(build === undefined ? [] : [`by build ${build}${old}`]),
    ...(cause === undefined ? [] : [causeText(cause)]),
  ];
  return [
    listedReview(review, paint),
    ...facts.map((fact) => paint('dim', `  ${oneLine(fact)}`)),
    ...sections.map(({ title, text }) => `\n${paint('bold', title)}\n  ${indented(painted(text, paint), 2)}`),
  ].join('\n');
}

/** `for call c-000041 (update), in reconcile k-000012 of Application default/web` */
function causeText({ call, verb, reconcile, of }: ReviewCause): string {
  const made = reconcile === undefined ? '' : `, in reconcile ${reconcile}${of ? ` of ${describe(of)}` : ''}`;
  return `for call ${call} (${verb}) of the controller${made}`;
}

/** One line about the review, and below it how its answer differs now. */
export function replayedReview(
  { review, result, differences = [], why, isRedacted, alike = [] }: Of<'reviews.replayed'>,
  paint: Paint,
): string {
  const redacted = isRedacted ? paint('yellow', '(values in it were replaced when it was recorded)') : '';
  const more = alike.length === 0 ? '' : `and ${alike.length} more like it: ${firstOf(alike.map(nameOf))}`;
  const facts = [
    review.id,
    subject(review),
    paint('dim', shortName(review.webhook)),
    why ?? '',
    more,
    redacted,
  ];
  const colour = result === 'changed' ? 'red' : result === 'same' ? 'green' : 'yellow';
  const line = paintedRow(
    paint,
    colour,
    result.replace('-', ' '),
    facts.filter(Boolean).map(oneLine).join('  '),
  );
  const parts = differences.map(({ title, text }) => {
    const lines = title === 'message' ? namelessLines(text, review) : text;
    return `\n  ${paint('bold', title)}\n    ${indented(painted(lines, paint), 4)}`;
  });
  return `${line}${parts.join('')}`;
}

/** The lines of a diff of messages, without the object that the review's row names. */
function namelessLines(text: string, { object, resource }: ReviewSummary): string {
  const lines = text.split('\n');
  return lines
    .map((line) => line.slice(0, 1) + withoutSubject(line.slice(1), object?.name, resource?.kind))
    .join('\n');
}

/** `default/web (r-000042)` */
function nameOf({ id, object }: AlikeReview): string {
  const name = [object?.namespace, object?.name].filter(Boolean).join('/');
  return name === '' ? id : `${name} (${id})`;
}

export function comparedReviews(
  { replayed, changed, leftOut, ms, build }: Of<'reviews.compared'>,
  paint: Paint,
): string {
  const facts = [...(leftOut > 0 ? [`${leftOut} left out`] : []), duration(ms), ...(build ? [build] : [])];
  const text = `${changed} of ${counted(replayed, 'answer')} changed`;
  return paintedRow(
    paint,
    changed > 0 ? 'red' : 'green',
    'replayed',
    `${text}  ${paint('dim', `(${facts.join(', ')})`)}`,
  );
}

/** The lines of a diff in their colours. */
function painted(text: string, paint: Paint): string {
  const colour = (line: string): string => {
    if (line.startsWith('+')) return paint('green', line);
    return line.startsWith('-') ? paint('red', line) : line;
  };
  return text.split('\n').map(colour).join('\n');
}
