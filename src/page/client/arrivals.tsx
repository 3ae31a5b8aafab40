import { useEffect, useRef, useState } from 'preact/hooks';
import { byUser, clock, shortName, subject, timeOf, WAITS } from '../../report/review-words.ts';
import { Announcer } from '../announcer.ts';
import { matches } from '../query.ts';
import type { Store } from './store.ts';

/** The most waiting reviews that are shown: while all reviews are held, many can wait. */
const MOST_WAITING = 5;
/** A screen reader should not be interrupted more often. */
const AT_MOST_EVERY_MS = 3_000;

/** Says what goes wrong to those who cannot see it. */
export function Announcements({ store }: { store: Store }) {
  const [said, say] = useState('');
  const announcer = useRef(new Announcer());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!store.isRead) return;
      const text = announcer.current.next(store);
      if (text !== '') say(text);
    }, AT_MOST_EVERY_MS);
    return () => clearInterval(timer);
  }, [store]);
  return (
    <p class="hidden announcements" role="status">
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
