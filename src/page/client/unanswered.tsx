import { byUser, clock, shortName, subject, timeOf, WAITS } from '../../report/review-words.ts';
import { matches } from '../query.ts';
import type { Store } from './store.ts';

/** While all reviews are held, there can be many. */
const MOST_SHOWN = 5;

/** The reviews that wait. They have no id and no verdict yet; once they have, they are in the list below. */
export function Unanswered({ store: { waiting, query } }: { store: Store }) {
  const found = waiting.filter((one) => matches(query, one));
  if (found.length === 0) return null;
  const shown = found.slice(0, MOST_SHOWN);
  return (
    <ul class="unanswered" aria-label="Reviews without an answer">
      {shown.map((review, index) => (
        <li key={index}>
          <time dateTime={review.at}>{clock(review.at)}</time> <b class="verdict">waiting</b>{' '}
          <span class="subject">{subject(review)}</span> <span class="user">{byUser(review)}</span>{' '}
          <span class="webhook">{shortName(review.webhook)}</span>{' '}
          <span class="took">
            {timeOf(review)}, {WAITS[review.waitsFor]}
          </span>
        </li>
      ))}
      {found.length > shown.length && <li>and {found.length - shown.length} more</li>}
    </ul>
  );
}
