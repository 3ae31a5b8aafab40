import { clock } from '../../report/review-words.ts';
import { TimelineOf, Title } from './parts.tsx';
import { Prose } from './prose.tsx';
import type { Store } from './store.ts';

/** What the session has warned of, the newest first. */
export function WarningsPane({ store }: { store: Store }) {
  const { warnings } = store;
  return (
    <>
      <Title>Warnings</Title>
      {warnings.length === 0 && (
        <p class="note">
          None so far. Loops, conflicts, writes that change nothing, and what RBAC refuses appear here.
        </p>
      )}
      <ul class="cards">
        {warnings.toReversed().map(({ at, code, message, hint, object }, index) => (
          <li key={index}>
            <p>
              <b class="doubtful">{code}</b> <time dateTime={at}>{clock(at)}</time>
            </p>
            <p>
              <Prose text={message} store={store} />
            </p>
            {hint !== undefined && (
              <p class="note">
                <Prose text={hint} store={store} />
              </p>
            )}
            {object && <TimelineOf object={object} store={store} />}
          </li>
        ))}
      </ul>
    </>
  );
}
