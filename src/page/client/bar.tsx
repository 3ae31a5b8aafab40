import { useEffect } from 'preact/hooks';
import { ACTIONS, type PageAction } from '../../report/actions.ts';
import type { PageStatus } from '../protocol.ts';
import { act, hasKey } from './api.ts';
import type { Connection, Store } from './store.ts';

/** The state of the session, and what can be done with it, in one line. */
export function Bar({ store }: { store: Store }) {
  const { status, connection, problem } = store;
  const message = problem ?? CONNECTIONS[connection];
  return (
    <header>
      <div class="bar">
        <strong class="name">devloop</strong>
        {connection === 'connecting' && <span class="note">Connecting…</span>}
        {status && <Facts status={status} connection={connection} />}
        {status && hasKey() && connection === 'open' && <Buttons status={status} store={store} />}
      </div>
      <p class="connection" role="status">
        {message}
      </p>
    </header>
  );
}

const CONNECTIONS: Record<Connection, string> = {
  // It is in the bar: a line that goes when the page is connected would move all below it.
  connecting: '',
  open: '',
  lost: 'The session has ended, or cannot be reached. The page shows what was last known. In a terminal, devloop status says whether the session is gone, and devloop down then restores the cluster.',
  ended: 'The session has ended. The page shows what was last known.',
  refused: '',
};

function Facts({ status, connection }: { status: PageStatus; connection: Connection }) {
  const { state, health, context } = status;
  const { name, build, route, held, reviewsPerMinute, stoppedAt } = state;
  useEffect(() => {
    document.title = `${name}: devloop`;
  }, [name]);
  const phase = { lost: 'not reachable', ended: 'ended' }[connection as string] ?? state.phase;
  const isWell = phase !== state.phase || health.startsWith('serving') || health === phase;
  return (
    <dl class="facts">
      <Fact name="Operator" value={name} kind="operator" />
      <Fact name="State" value={phase} kind={`state ${phase}`} />
      {!isWell && <Fact name="Health" value={health} kind="lost" />}
      {stoppedAt !== undefined && <Fact name="Breakpoint" value={stoppedAt} kind="held" />}
      <Fact name="Cluster" value={context} />
      {build.id && <Fact name="Build" value={`${build.id}${NEWER[build.is]}`} kind={build.is} />}
      {route && (
        <Fact
          name="Route"
          value={`${route.name} ${route.address}${route.isOpen ? '' : ', lost'}`}
          kind={route.isOpen ? 'route' : 'lost'}
        />
      )}
      {held > 0 && <Fact name="Waiting" value={String(held)} kind="held" />}
      <Fact name="Per minute" value={String(reviewsPerMinute)} kind="rate" />
    </dl>
  );
}

/** The text about the newest source while an older build answers. */
const NEWER: Record<PageStatus['state']['build']['is'], string> = {
  current: '',
  building: ' (a newer one is being built)',
  broken: ' (the newest source does not build)',
};

function Fact({ name, value, kind = '' }: { name: string; value: string; kind?: string }) {
  return (
    <div class={kind} title={`${name}: ${value}`}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Buttons({ status, store }: { status: PageStatus; store: Store }) {
  const run = async (action: PageAction): Promise<void> => {
    const failed = await act(action).catch((error: Error) => error);
    store.set('problem', failed instanceof Error ? failed.message : undefined);
  };
  return (
    <div class="buttons">
      {status.actions.map((action) => (
        <button key={action} type="button" onClick={() => void run(action)}>
          {ACTIONS[action].button}
        </button>
      ))}
    </div>
  );
}
