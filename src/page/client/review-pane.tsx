import { useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import type { ReviewSummary } from '../../report/review.ts';
import { changesIn, clockMs, lateWords, prunedWords } from '../../report/review-words.ts';
import type { FieldCause, ReviewDetail, ReviewPart } from '../protocol.ts';
import { exportReview, hasKey, readReview } from './api.ts';
import { type Mark, Marked, marksOf } from './marked.tsx';
import { Copies, Head, Link, Met, Tabs, TimelineButton, Title, useAnswer } from './parts.tsx';
import { Replay } from './replay.tsx';
import { SideBySide } from './side-by-side.tsx';
import type { Store } from './store.ts';
import { Timing } from './timing.tsx';

/** One review: first the verdict and its reason, and then its parts. */
export function ReviewPane({ id, store }: { id: string; store: Store }) {
  const listed = store.entry(id) as ReviewSummary | undefined;
  // A late answer may arrive while the review is open.
  const detail = useAnswer(() => readReview(id), [id, listed?.late !== undefined]);
  const read = typeof detail === 'string' ? undefined : detail;
  const review = read?.review ?? listed;
  if (review === undefined) return <NotHere id={id} problem={String(detail)} />;
  return (
    <>
      <Head shown={review}>
        {review.code !== undefined && review.verdict !== 'allowed' ? ` (${review.code})` : ''}
        {review.message !== undefined ? `: ${review.message}` : ''}
      </Head>
      <Facts review={review} store={store} />
      {typeof detail === 'string' && detail !== '' && <p class="note">{detail}</p>}
      {read && <Causes causes={read.causes} of={review} />}
      {read?.notKept !== undefined && <p class="note">{read.notKept}</p>}
      {read !== undefined && read.redacted > 0 && (
        <p class="note">Replaced, because it looks secret: {counted(read.redacted, 'value')}.</p>
      )}
      <div class="tools">
        <TimelineButton shown={review} store={store} />
        {read && read.notKept === undefined && <Exports id={id} />}
        {read && read.notKept === undefined && store.status?.canReplay && hasKey() && <Replay id={id} />}
      </div>
      {read && <Parts detail={read} />}
    </>
  );
}

function NotHere({ id, problem }: { id: string; problem: string }) {
  return (
    <>
      <Title>{id}</Title>
      <p class="note">{problem}</p>
    </>
  );
}

function Facts({ review, store }: { review: ReviewSummary; store: Store }) {
  const { id, uid, at, webhook, user, patch = [], build, isOldBuild, late } = review;
  const cause = uid === undefined ? undefined : store.callWith(uid);
  return (
    <>
      {late && <p class="late">Later, {lateWords(late)}</p>}
      {patch.length > 0 && <p class="patch">The webhook changed {changesIn(review, patch.length)}</p>}
      {review.pruned && <p class="note pruned">{prunedWords(review)}.</p>}
      <Met of={review} />
      <p class="from">
        {id} at <time dateTime={at}>{clockMs(at)}</time>, webhook {webhook}
        {user === undefined ? '' : `, by ${user}`}
        {build === undefined ? '' : `, answered by build ${build}`}
      </p>
      {cause && (
        <p class="from">
          For the controller’s own call <Link id={cause.id} store={store} />
        </p>
      )}
      {isOldBuild && <p class="old">The old build answered: newer sources did not build or start.</p>}
    </>
  );
}

/** The message of a refusal with one cause says all of it. */
function Causes({ causes, of }: { causes: FieldCause[]; of: ReviewSummary }) {
  const said = causes.length === 1 && of.message?.includes(`${causes[0]!.field}: ${causes[0]!.message}`);
  if (causes.length === 0 || said) return null;
  return (
    <ul class="causes" aria-label="Fields that the answer refuses">
      {causes.map(({ field, message }, index) => (
        <li key={index}>
          <code>{field}</code> {message}
        </li>
      ))}
    </ul>
  );
}

const TITLES: Record<ReviewPart['name'], string> = {
  request: 'Request',
  object: 'Object',
  patch: 'Patch',
  response: 'Response',
  late: 'Late answer',
};

/** The part that is shown first: what the webhook changed, or else what was asked, or else the answer. */
const FIRST: ReviewPart['name'][] = ['patch', 'object', 'response'];

type PartName = ReviewPart['name'] | 'timing';

function Parts({ detail: { review, parts, causes } }: { detail: ReviewDetail }) {
  const names = [...parts.map(({ name }) => name), 'timing' as const];
  const [shown, show] = useState<PartName>(
    FIRST.find((name) => parts.some((part) => part.name === name)) ?? 'timing',
  );
  const part = parts.find(({ name }) => name === shown);
  const titled = names.map((name): [PartName, string] => [name, name === 'timing' ? 'Timing' : TITLES[name]]);
  return (
    <Tabs<PartName> label="Parts of the review" names={titled} shown={shown} show={show}>
      {part ? <Part key={shown} part={part} review={review} causes={causes} /> : <Timing ms={review.ms} />}
    </Tabs>
  );
}

interface PartProps {
  part: ReviewPart;
  review: ReviewSummary;
  causes: FieldCause[];
}

function Part({ part: { name, before, text, note }, review, causes }: PartProps) {
  const titles: [string, string] =
    name === 'patch' ? ['Before the webhook', 'After the webhook'] : ['Old object', 'New object'];
  const marks: Mark[] = name === 'object' ? marksOf(text, causes, 'refused') : [];
  if (name === 'patch') marks.push(...marksOf(text, prunedIn(review), 'pruned'));
  return (
    <>
      {note !== undefined && <p class="note">{note}</p>}
      {before === undefined ? (
        <Marked text={text} marks={marks} />
      ) : (
        <SideBySide
          before={before}
          after={text}
          titles={review.kind === 'conversion' ? ['Before', 'Converted'] : titles}
          marks={marks}
        />
      )}
    </>
  );
}

function prunedIn({ pruned = [] }: ReviewSummary): FieldCause[] {
  return pruned.map((one) => ({ field: one.field, message: prunedWords({ pruned: [one] }) }));
}

function Exports({ id }: { id: string }) {
  return (
    <Copies
      of={[
        ['Copy as curl', () => exportReview(id, 'curl')],
        ['Copy as Go test', () => exportReview(id, 'go')],
      ]}
    />
  );
}
