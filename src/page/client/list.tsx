import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import { type ListRow, rowOfId } from '../listed.ts';
import { Announcements, Unanswered } from './arrivals.tsx';
import { Headings, Row } from './row.tsx';
import type { Store } from './store.ts';

/** Additional rows above and below the visible ones, so that scrolling shows no gap. */
const SPARE = 8;
const ROW_PX = 24;
/** So near to its end, the list counts as scrolled down. */
const NEAR_PX = 4;

/**
 * What has happened, in the order of time. Only the visible rows are in the document. At its end, the list follows what arrives; while the
 * user reads, nothing moves.
 */
export function List({ store }: { store: Store }) {
  const box = useRef<HTMLDivElement>(null);
  const anchor = useRef<{ id: string; offset: number }>(undefined);
  const [top, setTop] = useState(0);
  const height = useHeight(box);
  const { openId, isFollowing } = store;
  const { rows } = store.list;
  useLayoutEffect(() => keepPlace(box.current!, rows, isFollowing ? undefined : anchor.current, isFollowing));
  useReveal(box, rows, openId);
  const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_PX) + SPARE);
  const shown = rows.slice(first, last);
  const isAtEnd = top + height >= rows.length * ROW_PX;
  const move = (index: number): void => {
    const row = rows[Math.min(Math.max(index, 0), rows.length - 1)];
    if (row) store.open(row.shown.id);
  };
  /** Read at the moment of a key press: keys may come faster than the page is drawn. */
  const selected = (): number => rowOfId(store.list.rows, store.openId ?? store.lastId);
  const scrolled = (element: HTMLElement): void => {
    const at = element.scrollTop;
    setTop(at);
    const row = store.list.rows[Math.floor(at / ROW_PX)];
    anchor.current = row && { id: row.shown.id, offset: at % ROW_PX };
    const isAtEnd = at + element.clientHeight >= element.scrollHeight - NEAR_PX;
    const isReading = store.openId !== undefined && selected() >= 0;
    if (!isAtEnd) store.follow(false);
    else if (!isReading) store.follow(true);
  };
  return (
    <section class="list" aria-label="Requests">
      <Announcements store={store} />
      <Unanswered store={store} />
      <div
        ref={box}
        class="scroll"
        role="treegrid"
        aria-label="Requests, oldest first"
        aria-rowcount={rows.length + 1}
        tabIndex={0}
        aria-activedescendant={shown[rowOfId(shown, openId ?? store.lastId)]?.shown.id}
        onScroll={({ currentTarget }) => scrolled(currentTarget)}
        onKeyDown={(event) =>
          onKey(event, { at: selected(), page: Math.max(1, Math.floor(height / ROW_PX) - 2), move, store })
        }
      >
        <Headings />
        {/* biome-ignore lint/a11y/useSemanticElements: a table could not show only the visible rows. */}
        <div class="rows" role="rowgroup" style={{ height: `${rows.length * ROW_PX}px` }}>
          {shown.map((row, index) => (
            <Row
              key={row.shown.id}
              row={row}
              index={first + index}
              top={(first + index) * ROW_PX}
              store={store}
            />
          ))}
        </div>
      </div>
      {rows.length === 0 && <Nothing store={store} />}
      {!isFollowing && !isAtEnd && (
        <Follow store={store} box={box} below={Math.floor((top + height) / ROW_PX) - 1} />
      )}
    </section>
  );
}

/** Stays at the end, or where the user reads, also if rows are added or dropped above. */
function keepPlace(
  box: HTMLElement,
  rows: ListRow[],
  anchor: { id: string; offset: number } | undefined,
  isFollowing: boolean,
): void {
  if (isFollowing) {
    box.scrollTop = box.scrollHeight;
    return;
  }
  const at = anchor ? rows.findIndex(({ shown: { id } }) => id === anchor.id) : -1;
  const wanted = at * ROW_PX + (anchor?.offset ?? 0);
  if (at >= 0 && Math.abs(wanted - box.scrollTop) >= ROW_PX) box.scrollTop = wanted;
}

function noneText(store: Store): string {
  const { isRead, list, reviews, recorded } = store;
  if (list.all > 0) return 'Nothing matches the filter.';
  if (store.clearedTo !== '') return 'Nothing yet since the list was cleared.';
  if (reviews.length + recorded.length > 0) return 'Only reads so far: they are under Reads.';
  return isRead
    ? 'Nothing yet. Apply an object that the operator’s webhooks review, or that its controller reconciles.'
    : 'Reading what was recorded…';
}

function Nothing({ store }: { store: Store }) {
  return (
    <p class="none">
      {noneText(store)}{' '}
      {store.queryText !== '' && (
        <button type="button" class="link" onClick={() => store.find('')}>
          Clear the filter
        </button>
      )}
    </p>
  );
}

/** How many lines below what is seen began after the user had begun to read. A click goes there. */
function Follow({
  store,
  box,
  below,
}: {
  store: Store;
  box: { current: HTMLDivElement | null };
  below: number;
}) {
  const { list, readTo } = store;
  const isNew = ({ depth, shown }: ListRow): boolean => depth === 0 && readTo !== '' && shown.at > readTo;
  const fresh = list.rows.slice(below).filter(isNew).length;
  const go = (): void => {
    store.follow(true);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  return (
    <button type="button" class="follow" onClick={go}>
      {fresh > 0 ? `${counted(fresh, 'new line')} below` : 'Go to the newest'}
    </button>
  );
}

interface Keys {
  at: number;
  /** How many rows can be seen. */
  page: number;
  move(index: number): void;
  store: Store;
}

function onKey(event: KeyboardEvent, { at, page, move, store }: Keys): void {
  const { rows } = store.list;
  const row = rows[at];
  const head = row && rows.findIndex(({ group, depth }) => depth === 0 && group === row.group);
  const target: Record<string, number | undefined> = {
    ArrowDown: at + 1,
    ArrowUp: at < 0 ? rows.length - 1 : Math.max(at - 1, 0),
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: rows.length - 1,
    ...(row && row.depth > 0 ? { ArrowLeft: head } : {}),
  };
  const to = target[event.key];
  if (event.key === 'Enter' && store.openId === undefined && row) store.open(row.shown.id);
  else if (event.key === 'Enter') document.getElementById('detail')?.focus();
  if (event.key === 'Escape') store.close();
  if (row?.isOpen !== undefined && (event.key === 'ArrowRight' || event.key === 'ArrowLeft')) {
    event.preventDefault();
    store.toggle(row.shown.id, event.key === 'ArrowRight');
  } else if (to !== undefined) {
    event.preventDefault();
    move(to);
  }
}

/** Scrolls to what was opened, once its row is there. */
function useReveal(
  box: { current: HTMLDivElement | null },
  rows: ListRow[],
  openId: string | undefined,
): void {
  const revealed = useRef<string>(undefined);
  useLayoutEffect(() => {
    if (revealed.current === openId) return;
    const at = rowOfId(rows, openId);
    if (at >= 0) reveal(box.current!, at * ROW_PX);
    if (at >= 0 || openId === undefined) revealed.current = openId;
  });
}

function reveal(box: HTMLElement, top: number): void {
  const head = ROW_PX;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW_PX + head > box.scrollTop + box.clientHeight)
    box.scrollTop = top + ROW_PX + head - box.clientHeight;
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
