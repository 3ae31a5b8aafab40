import { CallPane } from './call-pane.tsx';
import { Changes } from './cluster.tsx';
import { FaultsPane } from './faults.tsx';
import { ReconcilePane } from './reconcile-pane.tsx';
import { RequestPane } from './request-pane.tsx';
import { ReviewPane } from './review-pane.tsx';
import type { Store } from './store.ts';
import { TimelinePane } from './timeline.tsx';
import { objectIn } from './timeline-id.ts';
import { WarningsPane } from './warnings.tsx';

/** What is shown beside the list: an entry of it, or something about the whole session. */
export function Pane({ id, store }: { id: string; store: Store }) {
  const list = (): HTMLElement | null => document.querySelector('[role=treegrid]');
  const isOfList = /^[rckg]-/.test(id);
  const close = (): void => {
    store.close();
    const at = list();
    if (at && at.scrollTop + at.clientHeight >= at.scrollHeight) store.follow(true);
    (isOfList ? at : (document.getElementById(`show-${id}`) ?? at))?.focus();
  };
  // An entry stays open beside its row, in which Escape closes it.
  const leave = (): void => (isOfList ? list()?.focus() : close());
  return (
    <section
      id="detail"
      class="detail"
      aria-labelledby="detail-title"
      tabIndex={-1}
      onKeyDown={({ key }) => key === 'Escape' && leave()}
    >
      <button type="button" class="close" aria-label="Close" title="Close" onClick={close}>
        ✕
      </button>
      <Content id={id} store={store} />
    </section>
  );
}

function Content({ id, store }: { id: string; store: Store }) {
  if (id === 'warnings') return <WarningsPane store={store} />;
  if (id === 'faults') return <FaultsPane store={store} />;
  if (id === 'changes') return <Changes />;
  const object = objectIn(id);
  if (object) return <TimelinePane object={object} store={store} />;
  if (id.startsWith('c-')) return <CallPane id={id} store={store} />;
  if (id.startsWith('k-')) return <ReconcilePane id={id} store={store} />;
  return id.startsWith('g-') ? <RequestPane id={id} store={store} /> : <ReviewPane id={id} store={store} />;
}
