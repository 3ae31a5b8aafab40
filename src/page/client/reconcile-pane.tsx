import { counted } from '../../phrases.ts';
import type { CallSummary, ReconcileSummary, RetriedReconcile } from '../../report/call.ts';
import { causeWords, retryWords, writeWords } from '../../report/call-words.ts';
import { clockMs } from '../../report/review-words.ts';
import { duration } from '../../report/text.ts';
import { isCall, isReconcile } from '../entry.ts';
import { repetitionsOf } from '../groups.ts';
import { exportRecorded, readReconcile } from './api.ts';
import { LogLine } from './log.tsx';
import { Copies, Head, Link, TimelineButton, Title, useAnswer } from './parts.tsx';
import type { Store } from './store.ts';
import { wordsOf } from './words.ts';

/** One reconcile: what came before it, what it asked of the API server, and what was logged in it. */
export function ReconcilePane({ id, store }: { id: string; store: Store }) {
  const detail = useAnswer(() => readReconcile(id), [id]);
  const reconcile =
    typeof detail === 'string' ? (store.entry(id) as ReconcileSummary | undefined) : detail.reconcile;
  if (reconcile === undefined) {
    return (
      <>
        <Title>{id}</Title>
        <p class="note">{String(detail)}</p>
      </>
    );
  }
  const { at, controller, ms, build, error, requeueAfterMs, reconcile: uid, counts } = reconcile;
  const { writes, reads, failed } = counts;
  return (
    <>
      <Head shown={reconcile}>{error === undefined ? '' : `: ${error}`}</Head>
      <p class="from">
        {id} at <time dateTime={at}>{clockMs(at)}</time>, controller {controller}, took {duration(ms)}
        {requeueAfterMs === undefined ? '' : `, again in ${duration(requeueAfterMs)}`}
        {build === undefined ? '' : `, build ${build}`}
        <br />
        Reconcile <code>{uid}</code>: {counted(writes, 'write')}, {counted(reads, 'read')}, {failed} failed
      </p>
      <div class="tools">
        <TimelineButton shown={reconcile} store={store} />
        <Copies of={[['Copy as JSON', () => exportRecorded(id)]]} />
      </div>
      <After of={reconcile} store={store} />
      <Repetitions of={reconcile} store={store} />
      <Calls of={reconcile} store={store} />
      {typeof detail !== 'string' && detail.log.length > 0 && <Log lines={detail.log} />}
    </>
  );
}

/** What came before it. Whether it came because of that, nobody knows, except of a retry. */
function After({ of, store }: { of: ReconcileSummary; store: Store }) {
  const { after, retryOf } = of;
  if (after.length === 0 && retryOf === undefined) return null;
  return (
    <section aria-label="After">
      <h3>After (the newest first)</h3>
      <table class="lines">
        <tbody>
          {retryOf && <Retried of={retryOf} store={store} />}
          {after.map((event, index) => (
            <tr key={index}>
              <td>
                <time dateTime={event.at}>{clockMs(event.at)}</time>
              </td>
              <td class="text">{causeWords(event, of)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Retried({ of, store }: { of: RetriedReconcile; store: Store }) {
  const { at, error } = (store.entry(of.id) ?? {}) as Partial<ReconcileSummary>;
  return (
    <tr>
      <td>{at && <time dateTime={at}>{clockMs(at)}</time>}</td>
      <td class="text">
        {retryWords(of).replace(of.id, '')}
        <Link id={of.id} store={store} />
        {error === undefined ? '' : `: ${error}`}
      </td>
    </tr>
  );
}

const MOST_REPETITIONS = 20;

/** Those that share its row in the list. */
function Repetitions({ of: { id }, store }: { of: ReconcileSummary; store: Store }) {
  const group = store.groupOf(id);
  const all = (group ? repetitionsOf(group, id) : []).filter(isReconcile);
  if (all.length === 0) return null;
  const last = all.slice(-MOST_REPETITIONS);
  return (
    <section aria-label="Attempts">
      <h3>{counted(all.length, 'reconcile')} that ended alike</h3>
      {last.length < all.length && <p class="note">The last {last.length} of them:</p>}
      <ul class="attempts">
        {last.map((one) => (
          <li key={one.id}>
            <Link id={one.id} store={store} /> <time dateTime={one.at}>{clockMs(one.at)}</time>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Calls({ of, store }: { of: ReconcileSummary; store: Store }) {
  const known = store.recorded.filter(
    (one): one is CallSummary => isCall(one) && one.reconcile === of.reconcile,
  );
  // The oldest ones may no longer be here.
  const gone = of.calls.filter(({ id }) => !known.some((one) => one.id === id));
  if (known.length + gone.length === 0) return null;
  return (
    <section aria-label="Calls">
      <h3>Calls</h3>
      <table class="lines">
        <tbody>
          {gone.map((call) => (
            <tr key={call.id}>
              <td>{call.id}</td>
              <td class="text" colSpan={3}>
                {writeWords(call, of)}
              </td>
            </tr>
          ))}
          {known.map((call) => (
            <Called key={call.id} call={call} store={store} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Called({ call, store }: { call: CallSummary; store: Store }) {
  const { name, status, tone, said, ms } = wordsOf(call);
  return (
    <tr>
      <td>
        <Link id={call.id} store={store} />
      </td>
      <td class={tone}>{status}</td>
      <td class="text">
        {name}
        {said.length > 0 && <p class={tone === 'bad' ? 'said bad' : 'said'}>{said.join(' · ')}</p>}
      </td>
      <td class="number">{duration(ms)}</td>
    </tr>
  );
}

function Log({ lines }: { lines: string[] }) {
  return (
    <section aria-label="Log">
      <h3>Log</h3>
      {lines.map((line, index) => (
        <LogLine key={index} line={line} />
      ))}
    </section>
  );
}
