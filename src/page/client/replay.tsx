import { useState } from 'preact/hooks';
import type { ReplayedReview } from '../protocol.ts';
import { replayReview } from './api.ts';

/** Sends the review to the controller that runs now, as a dry run, and shows how the answer differs. */
export function Replay({ id }: { id: string }) {
  const [answer, setAnswer] = useState<ReplayedReview | string>('');
  const replay = (): void => {
    setAnswer('Asking the controller…');
    replayReview(id).then(setAnswer, (error: Error) => setAnswer(error.message));
  };
  return (
    <div class="replay">
      <button type="button" onClick={replay}>
        Replay
      </button>{' '}
      <span role="status">{typeof answer === 'string' ? answer : sentence(answer)}</span>
      {typeof answer === 'string' ? null : <Differences of={answer} />}
    </div>
  );
}

function sentence({ result, why }: ReplayedReview): string {
  if (result === 'same') return 'The controller still gives the same answer.';
  return result === 'changed' ? 'The controller now answers differently.' : `Not sent: ${why}.`;
}

/** Unified diffs: lines that begin with a minus are from the recorded answer. */
function Differences({ of: { differences = [] } }: { of: ReplayedReview }) {
  return (
    <>
      {differences.map(({ title, text }) => (
        <figure key={title}>
          <figcaption>{title}</figcaption>
          <pre>
            {text.split('\n').map((line, index) => (
              <span key={index} class={CLASSES[line[0] ?? '']}>
                {line}
                {'\n'}
              </span>
            ))}
          </pre>
        </figure>
      ))}
    </>
  );
}

const CLASSES: Record<string, string> = { '-': 'removed', '+': 'added' };
