import { counted } from '../../phrases.ts';
import type { CallSummary, CauseEvent, ReconcileSummary } from '../../report/call.ts';
import { callWord, causeWords, writeWords } from '../../report/call-words.ts';
import { clock } from '../../report/review-words.ts';
import { duration } from '../../report/text.ts';
import { isCall } from '../entry.ts';
import { exportRecorded, readReconcile } from './api.ts';
import { Copies, Head, Link, TimelineButton, Title, useAnswer } from './parts.tsx';
import type { Store } from './store.ts';

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
  const { at, controller, ms, build, error, requeueAfterMs, reconcile: uid, counts, after } = reconcile;
  const { writes, reads, failed } = counts;
  return (
    <>
      <Head shown={reconcile}>{error === undefined ? '' : `: ${error}`}</Head>
      <p class="from">
        {id} at <time dateTime={at}>{clock(at)}</time>, controller {controller}, took {duration(ms)}
        {requeueAfterMs === undefined ? '' : `, again in ${duration(requeueAfterMs)}`}
        {build === undefined ? '' : `, build ${build}`}
        <br />
        Reconcile <code>{uid}</code>: {counted(writes, 'write')}, {counted(reads, 'read')}, {failed} failed
      </p>
      <div class="tools">
        <TimelineButton shown={reconcile} store={store} />
        <Copies of={[['Copy as JSON', () => exportRecorded(id)]]} />
      </div>
      <After events={after} of={reconcile} />
      <Calls of={reconcile} store={store} />
      {typeof detail !== 'string' && detail.log.length > 0 && <Log lines={detail.log} />}
    </>
  );
}

/** What came before it. Whether it came because of that, nobody knows. */
function After({ events, of }: { events: CauseEvent[]; of: ReconcileSummary }) {
  if (events.length === 0) return null;
  return (
    <section aria-label="After">
      <h3>After (the newest first)</h3>
      <table class="lines">
        <tbody>
          {events.map((event, index) => (
            <tr key={index}>
              <td>
                <time dateTime={event.at}>{clock(event.at)}</time>
              </td>
              <td class="text">{causeWords(event, of)}</td>
            </tr>
          ))}
        </tbody>
      </table>
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
            <tr key={call.id}>
              <td>
                <Link id={call.id} store={store} />
              </td>
              <td class={(call.code ?? 500) >= 400 ? 'bad' : ''}>{callWord(call)}</td>
              <td class="text">{writeWords(call, of)}</td>
              <td class="number">{duration(call.ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Log({ lines }: { lines: string[] }) {
  return (
    <section aria-label="Log">
      <h3>Log</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long texts scroll, also by keys. */}
      <pre tabIndex={0}>{lines.join('\n')}</pre>
    </section>
  );
}
