import { join } from 'node:path';
import { findMarked } from '../cluster/takeover/find-marked.ts';
import type { Work } from '../cluster/work.ts';
import { messageOf } from '../errors.ts';
import { hasDesktop, openBrowser, tunnelTo } from '../machine/browser.ts';
import type { Compared, PageAction, PageStatus } from '../page/protocol.ts';
import type { PageServer, PageSession } from '../page/server.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { SessionPhase } from '../report/session-state.ts';
import type { Recorder } from '../reviews/recorder.ts';
import { type Health, healthAfter, STARTING, wordsFor } from './context/health.ts';
import { namespacesOf } from './context/holders.ts';
import type { Control } from './control/control.ts';
import { serviceName } from './route/cut-over.ts';
import type { Session } from './start/session.ts';

/** The page of a session. It is loaded and served only when somebody opens it. */
export interface SessionPage extends AsyncDisposable {
  /** Called with each event of the session. */
  observe(event: DevloopEvent): void;
  /** Serves the page, opens it in the user's browser if there is one, and reports its address. */
  open(): Promise<void>;
}

/** What the page shows and controls. */
export interface PageParts {
  control: Control;
  recorder: Recorder;
}

export function createPage(session: Session, work: Work, parts: PageParts): SessionPage {
  const { io } = session;
  const services = session.target.services.map(serviceName);
  let seen = NOTHING_SEEN;
  let serving: Promise<PageServer> | undefined;
  let server: PageServer | undefined;
  const serve = async (): Promise<PageServer> => {
    const { startPageServer } = await import('../page/server.ts');
    server = await startPageServer(
      shown(session, work, parts, () => seen),
      join(import.meta.dirname, 'page'),
    );
    return server;
  };
  const cannotServe = (error: unknown): undefined => {
    // The next key press tries again.
    serving = undefined;
    work.emit(notice('page.not-served', { cause: messageOf(error) }));
  };
  return {
    observe(event) {
      seen = seenAfter(seen, event, services);
      if (event.type === 'review') server?.reviewed(event);
      if (event.type === 'review.late') server?.answeredLate({ id: event.id, late: event.late });
    },
    async open() {
      serving ??= serve();
      const served = await serving.catch(cannotServe);
      if (served === undefined) return;
      const { url, urlOnce } = served;
      const opened = hasDesktop(io.env) && (await openBrowser(urlOnce(), io.env));
      const tunnel = opened ? undefined : tunnelTo(new URL(url).port, io.env);
      work.emit({ type: 'page.served', url, opened, ...(tunnel ? { tunnel } : {}) });
    },
    async [Symbol.asyncDispose]() {
      await serving?.catch(() => undefined);
      await server?.[Symbol.asyncDispose]();
    },
  };
}

/** What the page shows from the session's events, besides the session's state. */
export interface Seen {
  health: Health;
  compiler: string | undefined;
  /** The ids of the first reviews that the running build answers differently. */
  changed: string[];
  compared: Compared | undefined;
}

export const NOTHING_SEEN: Seen = { health: STARTING, compiler: undefined, changed: [], compared: undefined };

const MOST_CHANGED = 100;

/** What the page shows after the event. `services`: the names of the Services that use the route. */
export function seenAfter(before: Seen, event: DevloopEvent, services: string[]): Seen {
  const seen = { ...before, health: healthAfter(before.health, event, services) };
  switch (event.type) {
    case 'build.failed':
      return { ...seen, compiler: event.output };
    case 'build.done':
      return { ...seen, compiler: undefined };
    case 'controller.started':
      return { ...seen, changed: [], compared: undefined };
    case 'reviews.replayed':
      if (event.result !== 'changed' || seen.changed.length === MOST_CHANGED) return seen;
      return { ...seen, changed: [...seen.changed, event.review.id] };
    case 'reviews.compared':
      return { ...seen, compared: { replayed: event.replayed, changed: event.changed, ids: seen.changed } };
    default:
      return seen;
  }
}

function shown(
  session: Session,
  work: Work,
  { control, recorder }: PageParts,
  seen: () => Seen,
): PageSession {
  const { directory } = session.files;
  return {
    status: () => statusOf(session, control, seen()),
    async *reviews(after) {
      const { scanSummaries } = await import('../reviews/scan.ts');
      await recorder.written();
      yield* scanSummaries(directory, after);
    },
    waiting: () => recorder.waiting().reviews,
    async review(id) {
      const { findEarlier, findRecord } = await import('../reviews/scan.ts');
      const { detailOf } = await import('../page/detail.ts');
      await recorder.written();
      const record = await findRecord(directory, id);
      return record && detailOf(record, await findEarlier(directory, record));
    },
    replay: (id) => control.replay(id),
    async exported(id, format) {
      const { findRecord } = await import('../reviews/scan.ts');
      const { exported } = await import('./reviews/exported.ts');
      await recorder.written();
      const record = await findRecord(directory, id);
      if (record === undefined) return undefined;
      const warnings: string[] = [];
      const emit: Emit = (event) => void (event.type === 'warning' && warnings.push(event.message));
      const { moved, context } = session;
      const where = { checkout: context.root, moved, emit };
      return { text: await exported({ format, ids: [id] }, [record], where), warnings };
    },
    async changes() {
      const { api, sessionId } = work;
      const { plannedRestore } = await import('./end/dry-run.ts');
      const { marked } = await findMarked(api, namespacesOf(session.target), { sessionId });
      return marked.map((one) => ({ object: one.ref, ...plannedRestore(one, sessionId) }));
    },
    async act(action) {
      control[action]();
    },
  };
}

function statusOf({ context }: Session, control: Control, { health, compiler, compared }: Seen): PageStatus {
  const { last: _, ...state } = control.state();
  return {
    state,
    health: wordsFor(health),
    context: context.api.context,
    ...(compiler === undefined ? {} : { compiler }),
    ...(compared === undefined ? {} : { compared }),
    actions: actionsIn(state),
    canReplay: ANSWERING.has(state.phase) && state.stoppedAt === undefined,
  };
}

/** The phases in which the controller runs, whether it gets reviews from the cluster or not. */
const ANSWERING = new Set<SessionPhase>(['serving', 'building', 'held']);

function actionsIn({ phase, route, isHeld, hasController }: PageStatus['state']): PageAction[] {
  if (phase === 'starting' || phase === 'ending') return [];
  return [
    ...(route ? [isHeld ? ('release' as const) : ('hold' as const)] : []),
    ...(hasController ? ['restart' as const] : []),
  ];
}
