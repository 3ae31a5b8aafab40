import { useEffect, useState } from 'preact/hooks';
import { causeWords } from '../../report/call-words.ts';
import { describe, type ObjectName } from '../../report/object-name.ts';
import { clockMs } from '../../report/review-words.ts';
import { type Entry, isReconcile } from '../entry.ts';
import { type Folded, foldedIn } from '../folded.ts';
import type { ObjectTimeline, TimelineEntry } from '../protocol.ts';
import { readTimeline } from './api.ts';
import { LogLine } from './log.tsx';
import { Link, Title } from './parts.tsx';
import { Again, Type } from './row.tsx';
import type { Store } from './store.ts';
import { objectOf, wordsOf } from './words.ts';

/** While much happens to the object, it is read again this often. */
const AGAIN_MS = 1_000;

/** The life of one object, oldest first, as `devloop timeline` prints it. */
export function TimelinePane({ object, store }: { object: ObjectName; store: Store }) {
  const [timeline, setTimeline] = useState<ObjectTimeline | string>('Reading what was recorded…');
  const news = newsOf(object, store);
  const [now, setNow] = useState(news);
  useEffect(() => {
    if (now === news) return undefined;
    const timer = setTimeout(() => setNow(news), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [now, news]);
  useEffect(() => {
    readTimeline(object).then(setTimeline, (error: Error) => setTimeline(error.message));
  }, [describe(object), now]);
  return (
    <>
      <Title>Timeline of {describe(object)}</Title>
      {typeof timeline === 'string' ? (
        <p class="note">{timeline}</p>
      ) : (
        <Lines timeline={timeline} store={store} />
      )}
    </>
  );
}

/** The last entry about the object: if it is another one, there is more to read. */
function newsOf({ kind, name }: ObjectName, { reviews, recorded }: Store): string {
  const isAbout = (one: Entry): boolean => {
    const about = objectOf(one);
    return about?.name === name && about.kind === kind;
  };
  return `${reviews.findLast(isAbout)?.id} ${recorded.findLast(isAbout)?.id}`;
}

function Lines({ timeline: { entries, left }, store }: { timeline: ObjectTimeline; store: Store }) {
  if (entries.length === 0) return <p class="note">Nothing is recorded about it.</p>;
  return (
    <>
      {left > 0 && <p class="note">{left} older ones are left out.</p>}
      <table class="lines timeline">
        <thead>
          <tr>
            <th scope="col">At</th>
            <th scope="col">Status</th>
            <th scope="col">What</th>
            <th scope="col">ID</th>
          </tr>
        </thead>
        <tbody>
          {foldedIn(entries).map(({ entry, again }, index) => (
            <Line key={index} entry={entry} again={again} store={store} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function Line({ entry, again, store }: Folded & { store: Store }) {
  const { at, status, tone, type, text, id } = lineOf(entry);
  return (
    <tr class={entry.type.replace('.', '-')}>
      <td>
        <time dateTime={at}>{clockMs(at)}</time>
      </td>
      <td class={tone}>
        {status}
        {again.length > 0 && <Again of={again} />}
      </td>
      <td class="text">
        <Type type={type} /> {entry.type === 'timeline.logged' ? <LogLine line={entry.line} /> : text}
      </td>
      <td>{id !== undefined && <Link id={id} store={store} />}</td>
    </tr>
  );
}

interface Shown {
  at: string;
  status: string;
  tone: string;
  type?: string;
  text: string;
  id?: string;
}

function lineOf(entry: TimelineEntry): Shown {
  switch (entry.type) {
    case 'reviews.listed':
      return ofEntry(entry.review);
    case 'calls.listed':
      return ofEntry(entry.call);
    case 'reconciles.listed':
      return ofEntry(entry.reconcile);
    case 'timeline.changed': {
      const { at, what } = entry.change;
      return { at, status: what, tone: 'good', text: causeWords(entry.change, entry.change) };
    }
    case 'timeline.logged':
      return { at: entry.at, status: 'logged', tone: 'muted', text: entry.line };
  }
}

function ofEntry(entry: Entry): Shown {
  const { name, via, type, status, tone, said, by } = wordsOf(entry);
  const what = isReconcile(entry) ? '' : name;
  const who = [via, by === '' ? '' : `by ${by}`].filter(Boolean).join(' ');
  const text = [what, who, ...said].filter(Boolean).join(' · ');
  return { at: entry.at, status, tone, ...(type && { type }), text, id: entry.id };
}
