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
      <Filter store={store} />
      <Panes store={store} />
    </div>
  );
}

function Filter({ store }: { store: Store }) {
  const { query, queryText } = store;
  const { found, all } = store.list;
  const isInvalid = query.faults.length > 0;
  return (
    <search class="filter">
      <label class="hidden" for="query">
        Filter
      </label>
      <input
        id="query"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="Filter: kind:Application verdict:denied user:ann since:10m text"
        aria-describedby="query-result"
        aria-invalid={isInvalid}
        value={queryText}
        onInput={({ currentTarget }) => store.find(currentTarget.value)}
      />
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
      <output id="query-result" for="query" class={isInvalid ? 'invalid' : ''}>
        {isInvalid ? (
          <Faults faults={query.faults} />
        ) : found === all ? (
          `${all} entries`
        ) : (
          `${found} of ${all} entries`
        )}
      </output>
    </search>
  );
}

function Faults({ faults }: { faults: Query['faults'] }) {
  return (
    <>
      {faults.map(({ term, why }) => (
        <span key={term} class="fault">
          <mark>{term}</mark> {why}.{' '}
        </span>
      ))}
    </>
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
