import type { Store } from './store.ts';

/** What can be shown beside the list besides what is in it. */
export function Panes({ store }: { store: Store }) {
  const { warnings, faults, openId } = store;
  const active = faults.filter(({ isOver }) => !isOver).length;
  const panes: [id: string, label: string, count: number][] = [
    ['warnings', 'Warnings', warnings.length],
    ['faults', 'Faults', active],
    ['changes', 'Cluster changes', 0],
  ];
  return (
    <div class="panes">
      {panes.map(([id, label, count]) => (
        <button
          key={id}
          id={`show-${id}`}
          type="button"
          aria-pressed={openId === id}
          onClick={() => store.open(openId === id ? undefined : id)}
        >
          {label}
          {count > 0 && <b class="count"> {count}</b>}
        </button>
      ))}
    </div>
  );
}
