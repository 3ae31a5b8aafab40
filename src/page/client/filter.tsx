import type { Store } from './store.ts';

export function Filter({ store }: { store: Store }) {
  const { query, queryText, matching, reviews } = store;
  return (
    <search class="filter">
      <label for="query">Filter</label>
      <input
        id="query"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="kind:Application verdict:denied user:ann slow:500 text"
        aria-describedby="query-result"
        value={queryText}
        onInput={({ currentTarget }) => store.find(currentTarget.value)}
      />
      <output id="query-result" for="query">
        {query.faults.length > 0
          ? query.faults.join('; ')
          : `${matching.length} of ${reviews.length} reviews`}
      </output>
    </search>
  );
}
