import { counted } from '../../phrases.ts';
import { Bar } from './bar.tsx';
import { Build, Changes, Comparison } from './cluster.tsx';
import { Detail } from './detail.tsx';
import { List } from './list.tsx';
import { type Store, useStore } from './store.ts';

export function App({ store }: { store: Store }) {
  const { connection, selectedId, status } = useStore(store);
  if (connection === 'refused') return <Refusal />;
  return (
    <>
      <Bar store={store} />
      <main>
        <h1 class="hidden">Reviews of this session</h1>
        <Filter store={store} />
        <div class={selectedId === undefined ? 'columns' : 'columns split'}>
          <List store={store} />
          {selectedId !== undefined && <Detail key={selectedId} id={selectedId} store={store} />}
        </div>
        {status?.compiler === undefined ? null : (
          <Build output={status.compiler} isBuilding={status.state.build.is === 'building'} />
        )}
        {status?.compared && <Comparison compared={status.compared} store={store} />}
        <Changes />
      </main>
    </>
  );
}

function Refusal() {
  return (
    <main class="refusal">
      <h1>This link is not valid</h1>
      <p>
        It belongs to another session, or was used before. For a link that works, press <kbd>o</kbd> in the
        terminal of <code>devloop up</code>.
      </p>
    </main>
  );
}

function Filter({ store }: { store: Store }) {
  const { query, queryText, matching, reviews } = store;
  return (
    <search class="filter">
      <label for="query">Filter</label>
      <input
        id="query"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="kind:Application verdict:denied user:ann since:10m text"
        aria-describedby="query-result"
        value={queryText}
        onInput={({ currentTarget }) => store.find(currentTarget.value)}
      />
      <output id="query-result" for="query">
        {query.faults.length > 0
          ? query.faults.join('; ')
          : `${matching.length} of ${counted(reviews.length, 'review')}`}
      </output>
    </search>
  );
}
