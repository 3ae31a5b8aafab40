import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import type { Query } from '../query.ts';
import { Panes } from './panes.tsx';
import type { Store } from './store.ts';

/** The terms of the filter that have buttons, with the labels of these. */
const BUTTONS: [label: string, term: string, title: string][] = [
  ['All', '', 'Everything but reads that succeeded'],
  ['Reviews', 'is:review', 'What the webhooks were asked'],
  ['Reconciles', 'is:reconcile', 'What the controller reconciled'],
  ['Writes', 'writes', 'What the controller wrote'],
  ['Reads', 'is:read', 'What the controller read'],
  ['Failed', 'failed', 'What was denied, refused, or failed'],
];

/** One filter for all that is listed, whose buttons write terms into it, and what else can be shown. */
export function Toolbar({ store }: { store: Store }) {
  return (
    <div class="toolbar">
      <Panes store={store} />
      <Filter store={store} />
      <Faults faults={store.query.faults} />
    </div>
  );
}

function Filter({ store }: { store: Store }) {
  const { query, queryText } = store;
  const isInvalid = query.faults.length > 0;
  return (
    <search class="filter">
      <fieldset class="kinds" aria-label="Show">
        {BUTTONS.map(([label, term, title]) => (
          <button
            key={label}
            type="button"
            title={title}
            aria-pressed={isChosen(queryText, term)}
            onClick={() => store.find(withTerm(queryText, term))}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <Clear store={store} />
      <label class="hidden" for="query">
        Filter
      </label>
      <input
        id="query"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="Filter: kind:Application verdict:denied user:ann since:10m text"
        aria-describedby={isInvalid ? 'query-faults' : undefined}
        aria-invalid={isInvalid}
        value={queryText}
        onInput={({ currentTarget }) => store.find(currentTarget.value)}
        onKeyDown={onKey}
      />
      <span id="query-result">{resultText(store)}</span>
      <Heard queryText={queryText} result={isInvalid ? faultText(query.faults) : resultText(store)} />
    </search>
  );
}

/** Hides what there is, so that only what follows is listed. */
function Clear({ store }: { store: Store }) {
  const isCleared = store.clearedTo !== '';
  return (
    <button
      id="clear"
      type="button"
      aria-pressed={isCleared}
      title={isCleared ? 'Show the earlier lines again' : 'Hide what is listed so far'}
      onClick={() => store.clear(!isCleared)}
    >
      Clear
    </button>
  );
}

/** From the filter, one key leads to the list. */
function onKey(event: KeyboardEvent): void {
  if (event.key !== 'ArrowDown') return;
  event.preventDefault();
  document.querySelector<HTMLElement>('[role=treegrid]')?.focus();
}

function resultText({ list: { found, all } }: Store): string {
  return found === all ? counted(all, 'line') : `${found} of ${counted(all, 'line')}`;
}

function faultText(faults: Query['faults']): string {
  return faults.map(({ term, why }) => `${term} ${why}.`).join(' ');
}

/** So long after the last key, what a filter finds is said to those who cannot see it. What arrives later is not. */
const HEARD_MS = 700;

function Heard({ queryText, result }: { queryText: string; result: string }) {
  const [said, say] = useState('');
  const latest = useRef('');
  latest.current = result;
  useEffect(() => {
    if (queryText === '' && said === '') return undefined;
    const timer = setTimeout(() => say(latest.current), HEARD_MS);
    return () => clearTimeout(timer);
  }, [queryText]);
  return (
    <span class="hidden" role="status">
      {said}
    </span>
  );
}

/** The parts of the filter that are not valid, with the reasons. */
function Faults({ faults }: { faults: Query['faults'] }) {
  if (faults.length === 0) return null;
  return (
    <p id="query-faults" class="invalid">
      {faults.map(({ term, why }) => (
        <span key={term} class="fault">
          <mark>{term}</mark> {why}.{' '}
        </span>
      ))}
    </p>
  );
}

const TERMS = BUTTONS.map(([, term]) => term);

function isChosen(text: string, term: string): boolean {
  const chosen = text.split(' ').filter((one) => one !== '' && TERMS.includes(one));
  return term === '' ? chosen.length === 0 : chosen.includes(term);
}

/** The text with this term in place of those of the other buttons. */
function withTerm(text: string, term: string): string {
  const rest = text.split(' ').filter((one) => one !== '' && !TERMS.includes(one));
  return [term, ...rest].filter(Boolean).join(' ');
}
