import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import { isLater } from '../../report/review.ts';
import { byUser, clock, shortName, subject, timeOf, WAITS } from '../../report/review-words.ts';
import { matches } from '../query.ts';
import type { Store } from './store.ts';

/** The most waiting reviews that are shown: while all reviews are held, many can wait. */
const MOST_WAITING = 5;
/** A screen reader that read each of many new reviews aloud would never finish. */
const AT_MOST_EVERY_MS = 5_000;

/** Announces new reviews to those who cannot see them. */
export function Arrivals({ store }: { store: Store }) {
  const [said, say] = useState('');
  const known = useRef<string>(undefined);
  useEffect(() => {
    const timer = setInterval(() => {
      const { reviews, isRead } = store;
      const last = reviews.at(-1);
      const fresh = reviews.filter(({ id }) => isLater(id, known.current ?? last?.id ?? ''));
      if (isRead) known.current = last?.id ?? '';
      if (fresh.length === 1) say(`${fresh[0]!.verdict} ${subject(fresh[0]!)}`);
      else if (fresh.length > 1) say(counted(fresh.length, 'new review'));
    }, AT_MOST_EVERY_MS);
    return () => clearInterval(timer);
  }, [store]);
  return (
    <p class="hidden" role="status">
      {said}
    </p>
  );
}

/** The reviews that wait. They have no id and no verdict yet; once they are answered, they appear in the list below. */
export function Unanswered({ store: { waiting, query } }: { store: Store }) {
  const found = waiting.filter((one) => matches(query, one));
  if (found.length === 0) return null;
  const shown = found.slice(0, MOST_WAITING);
  return (
    <ul class="unanswered" aria-label="Reviews without an answer">
      {shown.map((review, index) => (
        <li key={index}>
          <time dateTime={review.at}>{clock(review.at)}</time> <b>waiting</b>{' '}
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
