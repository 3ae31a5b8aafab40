import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import { isLater, type ReviewSummary } from '../../report/review.ts';
import {
  byUser,
  changesIn,
  clock,
  lateWords,
  prunedWords,
  shortName,
  subject,
  timeOf,
  WAITS,
} from '../../report/review-words.ts';
import { duration, limitText } from '../../report/text.ts';
import { matches } from '../query.ts';
import type { Store } from './store.ts';

/** Additional rows above and below the visible ones, so that scrolling shows no gap. */
const SPARE = 8;
const ROW_REM = 1.75;
const PAGE_ROWS = 10;
/** The most waiting reviews that are shown: while all reviews are held, many can wait. */
const MOST_WAITING = 5;

/**
 * The list of reviews, the newest first. Only the visible rows are in the document. New reviews are not added while the user reads further
 * down.
 */
export function List({ store }: { store: Store }) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const height = useHeight(box);
  const rowHeight = ROW_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const { matching, selectedId, shownCount: count } = store;
  const reviewAt = (index: number): ReviewSummary => matching[count - 1 - index]!;
  const first = Math.max(0, Math.floor(top / rowHeight) - SPARE);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + SPARE);
  const rows = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  const move = (index: number): void => {
    if (count === 0) return;
    const to = Math.min(Math.max(index, 0), count - 1);
    store.select(reviewAt(to).id);
    reveal(box.current!, to * rowHeight, rowHeight);
  };
  /** Read at the moment of a key press: keys may come faster than the page is drawn. */
  const selected = (): number => {
    const at = matching.findIndex(({ id }) => id === store.selectedId);
    return at < 0 ? -1 : count - 1 - at;
  };
  const scrolled = (at: number): void => {
    setTop(at);
    if (at > 0) store.pause(true);
    else if (selectedId === undefined) store.pause(false);
  };
  return (
    <section class="list" aria-label="Reviews">
      <Arrivals store={store} />
      <Waiting store={store} count={matching.length - count} box={box} />
      <Unanswered store={store} />
      <div
        ref={box}
        class="scroll"
        role="listbox"
        aria-label="Reviews, newest first"
        tabIndex={0}
        aria-activedescendant={rows.some((row) => reviewAt(row).id === selectedId) ? selectedId : undefined}
        onScroll={({ currentTarget }) => scrolled(currentTarget.scrollTop)}
        onKeyDown={(event) => onKey(event, selected(), move, count)}
      >
        <div role="presentation" style={{ height: `${count * rowHeight}px` }}>
          {rows.map((row) => (
            <Row
              key={reviewAt(row).id}
              review={reviewAt(row)}
              place={[row, count]}
              top={row * rowHeight}
              store={store}
            />
          ))}
        </div>
      </div>
      {count === 0 && <p class="none">{noneText(store)}</p>}
    </section>
  );
}

function noneText({ isRead, reviews }: Store): string {
  if (reviews.length > 0) return 'No review matches the filter.';
  return isRead
    ? 'No reviews yet. Apply an object that the operator’s webhooks review.'
    : 'Reading the reviews…';
}

/** Shows how many reviews have arrived since the user began to read. A click adds them to the list. */
function Waiting({
  store,
  count,
  box,
}: {
  store: Store;
  count: number;
  box: { current: HTMLDivElement | null };
}) {
  const isPaused = store.pausedAt !== undefined;
  const toggle = (): void => {
    store.pause(!isPaused);
    if (isPaused) box.current?.scrollTo({ top: 0 });
  };
  return (
    <button type="button" class="waiting" aria-pressed={isPaused} onClick={toggle}>
      {isPaused ? `Paused, ${count} new: continue` : 'Pause the list'}
    </button>
  );
}

interface RowProps {
  review: ReviewSummary;
  /** The index of the row, and the number of rows. */
  place: [number, number];
  top: number;
  store: Store;
}

function Row({ review, place: [index, count], top, store }: RowProps) {
  const { id, at, verdict, webhook, message, warnings = [], ms, build, isOldBuild, late } = review;
  const old = isOldBuild ? 'the old build answered' : '';
  const later = late && `later: ${lateWords(late)}`;
  const warns = warnings.length === 0 ? '' : `warns: ${warnings.join('; ')}`;
  const said = [
    old,
    later,
    verdict === 'allowed' ? '' : message,
    changesIn(review),
    prunedWords(review),
    warns,
  ]
    .filter(Boolean)
    .join('  ');
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list box takes the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the list box has the focus.
    <div
      id={id}
      class={`row ${verdict}`}
      role="option"
      aria-selected={store.selectedId === id}
      aria-posinset={index + 1}
      aria-setsize={count}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => store.select(id)}
    >
      <time dateTime={at}>{clock(at)}</time> <b class="verdict">{verdict}</b>{' '}
      <span class="subject">{subject(review)}</span> <span class="user">{byUser(review)}</span>{' '}
      <span class="webhook">{shortName(webhook)}</span> <span class="said">{said}</span>{' '}
      <span class="took">
        {duration(ms.total)}
        <span class="budget"> of {limitText(ms.budget)}</span>
      </span>{' '}
      <span class="program">{build}</span> <span class="id">{id}</span>
    </div>
  );
}

function onKey(event: KeyboardEvent, at: number, move: (index: number) => void, count: number): void {
  const target: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: Math.max(at - 1, 0),
    PageDown: at + PAGE_ROWS,
    PageUp: at - PAGE_ROWS,
    Home: 0,
    End: count - 1,
  };
  const to = target[event.key];
  if (event.key === 'Enter') document.getElementById('detail')?.focus();
  if (to === undefined) return;
  event.preventDefault();
  move(to);
}

function reveal(box: HTMLElement, top: number, rowHeight: number): void {
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = top + rowHeight - box.clientHeight;
}

function useHeight(box: { current: HTMLDivElement | null }): number {
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [box]);
  return height;
}

/** A screen reader that read each of many new reviews aloud would never finish. */
const AT_MOST_EVERY_MS = 5_000;

/** Announces new reviews to those who cannot see them. */
function Arrivals({ store }: { store: Store }) {
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
function Unanswered({ store: { waiting, query } }: { store: Store }) {
  const found = waiting.filter((one) => matches(query, one));
  if (found.length === 0) return null;
  const shown = found.slice(0, MOST_WAITING);
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
