import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { describe, type ObjectName } from '../../report/object-name.ts';
import type { Entry } from '../entry.ts';
import type { ExportedReview } from '../protocol.ts';
import type { Request } from '../requests-of-clients.ts';
import { Type } from './row.tsx';
import type { Store } from './store.ts';
import { timelineId } from './timeline-id.ts';
import { objectOf, wordsOf } from './words.ts';

/** What each pane about an entry begins with: what it is, and how it ended. */
export function Head({ shown, children }: { shown: Entry | Request; children?: ComponentChildren }) {
  const { name, status, tone, type } = wordsOf(shown);
  return (
    <>
      <h2 id="detail-title">
        <Type type={type} /> {name}
      </h2>
      <p class={`answer ${tone}`}>
        <b>{status}</b>
        {children}
      </p>
    </>
  );
}

export function Title({ children }: { children: ComponentChildren }) {
  return <h2 id="detail-title">{children}</h2>;
}

/** Something that the server has to be asked for; a text while it is not here, or cannot be had. */
export function useAnswer<T extends object>(ask: () => Promise<T>, again: unknown[]): T | string {
  const [answer, setAnswer] = useState<T | string>('');
  useEffect(() => {
    let isOver = false;
    ask().then(
      (value) => !isOver && setAnswer(value),
      (error: Error) => !isOver && setAnswer(error.message),
    );
    return () => {
      isOver = true;
    };
  }, again);
  return answer;
}

/** Opens another entry. */
export function Link({ id, store, children }: { id: string; store: Store; children?: ComponentChildren }) {
  return (
    <button type="button" class="link" onClick={() => store.open(id)}>
      {children ?? id}
    </button>
  );
}

export function TimelineButton({ shown, store }: { shown: Entry | Request; store: Store }) {
  const object = objectOf(shown);
  return object ? <TimelineOf object={object} store={store} /> : null;
}

export function TimelineOf({ object, store }: { object: ObjectName; store: Store }) {
  return (
    <button
      type="button"
      class="timeline-of"
      title={`All that is recorded about ${describe(object)}`}
      onClick={() => store.open(timelineId(object))}
    >
      Timeline of {object.name}
    </button>
  );
}

/** Buttons that copy a text to the clipboard, each with its label. */
export function Copies({ of }: { of: [label: string, read: () => Promise<ExportedReview>][] }) {
  const [said, say] = useState('');
  const copy = async (read: () => Promise<ExportedReview>): Promise<void> => {
    try {
      const { text, warnings } = await read();
      await navigator.clipboard.writeText(text);
      say(['Copied.', ...warnings].join(' '));
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <div class="exports">
      {of.map(([label, read]) => (
        <button key={label} type="button" onClick={() => void copy(read)}>
          {label}
        </button>
      ))}
      <span role="status">{said}</span>
    </div>
  );
}

interface TabsProps<Name extends string> {
  label: string;
  names: [name: Name, title: string][];
  shown: Name;
  show(name: Name): void;
  children: ComponentChildren;
}

export function Tabs<Name extends string>({ label, names, shown, show, children }: TabsProps<Name>) {
  const tabs = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const to = (names.findIndex(([name]) => name === shown) + step + names.length) % names.length;
    show(names[to]![0]);
    tabs.current?.querySelectorAll<HTMLElement>('[role=tab]')[to]?.focus();
  };
  return (
    <>
      <div ref={tabs} role="tablist" aria-label={label} onKeyDown={move}>
        {names.map(([name, title]) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={name === shown}
            aria-controls="part"
            tabIndex={name === shown ? 0 : -1}
            onClick={() => show(name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div id="part" role="tabpanel" aria-labelledby={`tab-${shown}`}>
        {children}
      </div>
    </>
  );
}

/** Which faults a call or a review has met, and the warnings of its answer. */
export function Met({ of: { faults, warnings } }: { of: { faults?: string[]; warnings?: string[] } }) {
  return (
    <>
      {faults?.map((fault) => (
        <p key={fault} class="note">
          Met the fault <code>{fault}</code>
        </p>
      ))}
      {warnings?.map((warning) => (
        <p key={warning} class="note">
          Warning: {warning}
        </p>
      ))}
    </>
  );
}
