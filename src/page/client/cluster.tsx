import { counted } from '../../phrases.ts';
import { subject } from '../../report/review-words.ts';
import { objectText } from '../../report/text.ts';
import type { Compared, PageChange } from '../protocol.ts';
import { readChanges } from './api.ts';
import { Title, useAnswer } from './parts.tsx';
import type { Store } from './store.ts';

/** What the compiler printed about the last source that it has finished with. */
export function Build({ output, isBuilding }: { output: string; isBuilding: boolean }) {
  return (
    <section class="build" aria-labelledby="build-title">
      <h2 id="build-title">
        {isBuilding
          ? 'The last build failed; a newer source is being built'
          : 'The newest source does not build; the last build answers'}
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, also by keys. */}
      <pre tabIndex={0}>{output}</pre>
    </section>
  );
}

/** What `up --replay` found: each entry opens the recorded review, which can be replayed there. */
export function Comparison({
  compared: { replayed, changed, ids },
  store,
}: {
  compared: Compared;
  store: Store;
}) {
  if (changed === 0) return null;
  const found = store.reviews.filter(({ id }) => ids.includes(id));
  return (
    <section class="compared" aria-labelledby="compared-title">
      <h2 id="compared-title">
        The new build answers {changed} of {counted(replayed, 'recorded review')} differently
      </h2>
      {found.map((review) => (
        <button key={review.id} type="button" onClick={() => store.open(review.id)}>
          {review.id} {subject(review)}
        </button>
      ))}
      {found.length < changed && <p>and {changed - found.length} more</p>}
    </section>
  );
}

/** Read from the cluster whenever it is opened. */
export function Changes() {
  const changes = useAnswer(readChanges, []);
  return (
    <>
      <Title>Changes in the cluster, and how each is restored</Title>
      {typeof changes === 'string' ? (
        <p class="note">{changes || 'Reading the cluster…'}</p>
      ) : (
        <ChangeTable changes={changes} />
      )}
    </>
  );
}

function ChangeTable({ changes }: { changes: PageChange[] }) {
  if (changes.length === 0) return <p>This session has changed nothing.</p>;
  return (
    <table class="lines changes">
      <thead>
        <tr>
          <th scope="col">Object</th>
          <th scope="col">At the end of the session</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={objectText(change.object)}>
            <th scope="row">{objectText(change.object)}</th>
            <td>
              <How change={change} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function How({ change: { action, fields = [], fault } }: { change: PageChange }) {
  if (fault !== undefined) return <>left as it is: {fault}</>;
  if (action === 'delete') return <>deleted: devloop created it</>;
  if (fields.length === 0) return <>restored by Kubernetes</>;
  const text = (value: unknown): string => (value === null ? 'absent' : JSON.stringify(value));
  return (
    <ul>
      {fields.map(({ path, now, after }) => (
        <li key={path}>
          <code>{path}</code>: {text(now)} becomes {text(after)}
        </li>
      ))}
    </ul>
  );
}
