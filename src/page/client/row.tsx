import type { ComponentChildren } from 'preact';
import { clock } from '../../report/review-words.ts';
import { duration, limitText } from '../../report/text.ts';
import { type Entry, isReconcile } from '../entry.ts';
import { type Group, isRequest } from '../groups.ts';
import { type ListRow, rowOfId } from '../listed.ts';
import type { Words } from './entry-words.ts';
import type { Store } from './store.ts';
import { share, wordsOf } from './words.ts';

/** What a bar means without a limit. */
const DEFAULT_LIMIT_MS = 10_000;

const HEADINGS: [kind: string, text: string, title?: string][] = [
  ['subject', 'Name'],
  ['status', 'Status'],
  ['via', 'Handled by'],
  ['user', 'User'],
  ['said', 'What it did'],
  ['took', 'Time', 'The bars are logarithmic'],
  ['at', 'At'],
  ['id', 'ID'],
];

export function Headings() {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus.
    // biome-ignore lint/a11y/useSemanticElements: a table could not show only the visible rows.
    <div class="row headings" role="row" aria-rowindex={1}>
      {HEADINGS.map(([kind, text, title]) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus.
        // biome-ignore lint/a11y/useSemanticElements: a table could not show only the visible rows.
        <span key={kind} class={kind} role="columnheader" title={title}>
          {text}
        </span>
      ))}
    </div>
  );
}

interface RowProps {
  row: ListRow;
  index: number;
  top: number;
  store: Store;
}

export function Row({ row, index, top, store }: RowProps) {
  const { shown, group, depth, isOpen, again } = row;
  const { id, at } = shown;
  const words = wordsOf(shown);
  const said = words.said.join(' · ');
  const isLast = store.openId === undefined && store.lastId === id;
  const shownId = isRequest(shown) ? '' : id;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus.
    // biome-ignore lint/a11y/useSemanticElements: a table could not show only the visible rows.
    <div
      id={id}
      class={`row ${words.tone} ${index % 2 === 0 ? 'even' : ''} ${isLast ? 'last' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-level={depth + 1}
      aria-expanded={isOpen}
      aria-label={spoken(row, words)}
      aria-selected={rowOfId([row], store.openId) === 0}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => store.open(id)}
      onMouseDown={(event) => event.detail > 1 && event.preventDefault()}
      onDblClick={() => isOpen !== undefined && store.toggle(id, !isOpen)}
    >
      <Cell kind="subject" title={words.name}>
        <span class="indent" style={{ width: `${depth}rem` }} />
        <Opener id={id} isOpen={isOpen} store={store} />
        {words.name}
      </Cell>
      <Cell kind="status" title={words.status}>
        <b>{words.status}</b>
        {again && <Again of={again} />}
      </Cell>
      <Cell kind="via" title={[words.type, words.via].filter(Boolean).join(' ')}>
        {isRequest(shown) ? <Members group={group} /> : <Type type={words.type} />}{' '}
        {isRequest(shown) ? '' : words.via}
      </Cell>
      <Cell kind="user" title={words.by}>
        {words.by}
      </Cell>
      <Cell kind="said" title={said}>
        {words.isInjected && <Injected />}
        {said}
      </Cell>
      <Cell kind="took" title={timeText(words)}>
        <Bar words={words} />
        {duration(words.ms)}
      </Cell>
      <Cell kind="at" title={at}>
        <time dateTime={at}>
          {clock(at)}
          <span class="ms">.{at.slice(20, 23)}</span>
        </time>
      </Cell>
      <Cell kind="id" title={shownId}>
        {shownId}
      </Cell>
    </div>
  );
}

/** What a fault of the session has made fail, which is no fault of the controller. */
function Injected() {
  return (
    <span class="type injected" title="A fault of this session has made it fail">
      injected
    </span>
  );
}

/** The whole row, also what there is no room for. */
function spoken({ shown, again = [] }: ListRow, words: Words): string {
  const { name, status, type, via, by, said, ms } = words;
  const count = again.filter(isReconcile).length;
  return [
    [name, status].join(' '),
    count > 0 ? `and ${count} more alike` : '',
    [type, via].filter(Boolean).join(' '),
    by === '' ? '' : `by ${by}`,
    ...said,
    duration(ms),
    `at ${clock(shown.at)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** How many reconciles repeated the one in the row. */
export function Again({ of }: { of: Entry[] }) {
  const count = of.filter(isReconcile).length;
  return (
    <span class="again" title={`${count} more like it`}>
      {' '}
      +{count}
    </span>
  );
}

function Cell({ kind, title, children }: { kind: string; title: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus.
    // biome-ignore lint/a11y/useSemanticElements: a table could not show only the visible rows.
    <span class={kind} role="gridcell" title={title}>
      {children}
    </span>
  );
}

const MOST_MEMBERS = 6;

/** A letter for each review and each reconcile of a request. */
function Members({ group }: { group: Group }) {
  const members = group.below.filter(({ depth }) => depth === 1).map(({ entry }) => entry);
  return (
    <>
      <span class="hidden">{wordsOf(group.head).via}</span>
      <span class="members" aria-hidden="true">
        {members.slice(0, MOST_MEMBERS).map((entry) => {
          const { type = 'review', tone } = wordsOf(entry);
          return (
            <span key={entry.id} class={`type ${type} ${tone === 'bad' ? 'failing' : ''}`} title={type}>
              {type[0]}
            </span>
          );
        })}
        {members.length > MOST_MEMBERS && ` +${members.length - MOST_MEMBERS}`}
      </span>
    </>
  );
}

/** `mutating`; where there is little room, `M`. */
export function Type({ type }: { type: string | undefined }) {
  if (type === undefined) return null;
  return (
    <span class={`type ${type}`} title={type}>
      {type[0]}
      <span class="rest">{type.slice(1)}</span>
    </span>
  );
}

function Opener({ id, isOpen, store }: { id: string; isOpen: boolean | undefined; store: Store }) {
  if (isOpen === undefined) return <span class="opener" />;
  const toggle = (event: MouseEvent): void => {
    event.stopPropagation();
    store.toggle(id, !isOpen);
  };
  return (
    <span class="opener" aria-hidden="true" onClick={toggle}>
      {isOpen ? '▾' : '▸'}
    </span>
  );
}

function Bar({ words: { ms, budget = DEFAULT_LIMIT_MS } }: { words: Words }) {
  return (
    <span class="timebar" aria-hidden="true">
      <span style={{ width: `${100 * share(ms, budget)}%` }} />
    </span>
  );
}

function timeText({ ms, budget }: Words): string {
  return budget === undefined ? duration(ms) : `${duration(ms)} of ${limitText(budget)}`;
}
