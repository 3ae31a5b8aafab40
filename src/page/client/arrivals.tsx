import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import { subject } from '../../report/review-words.ts';
import type { Store } from './store.ts';

/** A screen reader that reads each of many would never end. */
const AT_MOST_EVERY_MS = 5_000;

/** Says what arrives, for those who cannot see it. */
export function Arrivals({ store }: { store: Store }) {
  const [said, say] = useState('');
  const known = useRef<string>(undefined);
  useEffect(() => {
    const timer = setInterval(() => {
      const { reviews, isRead } = store;
      const last = reviews.at(-1);
      const fresh = reviews.filter(({ id }) => id > (known.current ?? last?.id ?? ''));
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
