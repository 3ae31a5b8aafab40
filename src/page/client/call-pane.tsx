import type { CallSummary } from '../../report/call.ts';
import { amountOf, causeWords, changesText } from '../../report/call-words.ts';
import { clockMs } from '../../report/review-words.ts';
import { duration } from '../../report/text.ts';
import type { CallDetail } from '../protocol.ts';
import { exportRecorded, readCall } from './api.ts';
import { Marked } from './marked.tsx';
import { Copies, Head, Link, Met, TimelineButton, Title, useAnswer } from './parts.tsx';
import { SideBySide } from './side-by-side.tsx';
import type { Store } from './store.ts';
import { wordsOf } from './words.ts';

/** One call of the controller: what it asked, what was answered, and what that changed. */
export function CallPane({ id, store }: { id: string; store: Store }) {
  const detail = useAnswer(() => readCall(id), [id]);
  const call = typeof detail === 'string' ? (store.entry(id) as CallSummary | undefined) : detail.call;
  if (call === undefined) {
    return (
      <>
        <Title>{id}</Title>
        <p class="note">{String(detail)}</p>
      </>
    );
  }
  return (
    <>
      <Head shown={call}>
        {call.code === undefined ? ' (no answer)' : ''}
        {call.message === undefined ? '' : `: ${call.message}`}
      </Head>
      <Facts call={call} store={store} />
      <div class="tools">
        <TimelineButton shown={call} store={store} />
        <Copies of={[['Copy as JSON', () => exportRecorded(id)]]} />
      </div>
      {typeof detail !== 'string' && <Objects detail={detail} />}
    </>
  );
}

function Facts({ call, store }: { call: CallSummary; store: Store }) {
  const { id, at, ms, build, reconcile, after = [], isOwn, isDryRun } = call;
  const made = store.recorded.find((one) => 'result' in one && one.reconcile === reconcile);
  const reviews = store.reviews.filter(({ uid }) => uid !== undefined && call.reviews?.includes(uid));
  const changes = changesText(call, Number.POSITIVE_INFINITY).trim();
  return (
    <>
      {changes !== '' && <p class="patch">{changes}</p>}
      {isOwn && <p class="note">devloop answered in place of the API server.</p>}
      {isDryRun && <p class="note">A dry run: nothing was stored.</p>}
      <Met of={call} />
      {after.map((event, index) => (
        <p key={index} class="note">
          Shortly after: {causeWords(event, call)}
        </p>
      ))}
      <p class="from">
        {id} at <time dateTime={at}>{clockMs(at)}</time>,{' '}
        {[...amountOf(call), `took ${duration(ms)}`].join(', ')}
        {build === undefined ? '' : `, build ${build}`}
        {made && (
          <>
            , in reconcile <Link id={made.id} store={store} />
          </>
        )}
      </p>
      {reviews.map((review) => (
        <p key={review.id} class="from">
          It caused the review <Link id={review.id} store={store} />, {wordsOf(review).via}: {review.verdict}
        </p>
      ))}
    </>
  );
}

function Objects({ detail: { call, before, after } }: { detail: CallDetail }) {
  if (before !== undefined && after !== undefined)
    return (
      <SideBySide before={before} after={after} titles={['Before the call', 'After the call']} marks={[]} />
    );
  const text = after ?? before;
  if (text === undefined)
    return call.isWrite ? <p class="note">The object is not known, or too large to be kept.</p> : null;
  return (
    <>
      <h3>{after === undefined ? 'Object before the call' : 'Object after the call'}</h3>
      <Marked text={text} marks={[]} />
    </>
  );
}
