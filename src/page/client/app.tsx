import { useEffect } from 'preact/hooks';
import { Bar } from './bar.tsx';
import { Build, Comparison } from './cluster.tsx';
import { Toolbar } from './filter.tsx';
import { List } from './list.tsx';
import { Pane } from './pane.tsx';
import { type Store, useStore } from './store.ts';

export function App({ store }: { store: Store }) {
  const { connection, openId, status } = useStore(store);
  useEffect(() => {
    const slash = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (key !== '/' || ctrlKey || metaKey || altKey || target instanceof HTMLInputElement) return;
      event.preventDefault();
      document.getElementById('query')?.focus();
    };
    addEventListener('keydown', slash);
    return () => removeEventListener('keydown', slash);
  }, []);
  if (connection === 'refused') return <Refusal />;
  return (
    <>
      <Bar store={store} />
      <main>
        <h1 class="hidden">Requests of this session</h1>
        <Toolbar store={store} />
        <div class={openId === undefined ? 'columns' : 'columns split'}>
          <List store={store} />
          {openId !== undefined && <Pane key={openId} id={openId} store={store} />}
        </div>
        {status?.compiler === undefined ? null : (
          <Build output={status.compiler} isBuilding={status.state.build.is === 'building'} />
        )}
        {status?.compared && <Comparison compared={status.compared} store={store} />}
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
