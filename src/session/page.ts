import { join } from 'node:path';
import { findMarked } from '../cluster/takeover/find-marked.ts';
import type { Work } from '../cluster/work.ts';
import { messageOf } from '../errors.ts';
import { hasDesktop, openBrowser, tunnelTo } from '../machine/browser.ts';
import type { PageAction, PageStatus } from '../page/protocol.ts';
import type { PageServer, PageSession } from '../page/server.ts';
import type { DevloopEvent, Emit, SessionPhase } from '../report/events.ts';
import type { Recorder } from '../reviews/recorder.ts';
import { healthAfter, STARTING, wordsFor } from './context/health.ts';
import { namespacesOf, targetsOf } from './context/holders.ts';
import type { Control } from './control/control.ts';
import { serviceName } from './route/cut-over.ts';
import type { Session } from './start/session.ts';

/** The page of a session. Nothing of it is loaded or served before it is opened. */
export interface SessionPage extends AsyncDisposable {
  /** Gets each event of the session. */
  observe(event: DevloopEvent): void;
  /** Serves the page, opens it in the user's browser where there is one, and says where it is. */
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
  const seen: Seen = { health: STARTING, compiler: undefined };
  let serving: Promise<PageServer> | undefined;
  let server: PageServer | undefined;
  const serve = async (): Promise<PageServer> => {
    const { startPageServer } = await import('../page/server.ts');
    server = await startPageServer(shown(session, work, parts, seen), join(import.meta.dirname, 'page'));
    return server;
  };
  return {
    observe(event) {
      seen.health = healthAfter(seen.health, event, services);
      if (event.type === 'build.failed') seen.compiler = event.output;
      if (event.type === 'build.done') seen.compiler = undefined;
      if (event.type === 'review') server?.reviewed(event);
    },
    async open() {
      serving ??= serve();
      const served = await serving.catch((error) => warn(work, error));
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

/** What the session's events say, besides its state. */
interface Seen {
  health: typeof STARTING;
  compiler: string | undefined;
}

function warn({ emit }: Work, error: unknown): undefined {
  emit({ type: 'warning', message: `The page cannot be served: ${messageOf(error)}` });
}

function shown(session: Session, work: Work, { control, recorder }: PageParts, seen: Seen): PageSession {
  const { directory } = session.files;
  return {
    status: () => statusOf(session, control, seen),
    async *reviews(after) {
      const { scanSummaries } = await import('../reviews/scan.ts');
      await recorder.written();
      yield* scanSummaries(directory, after);
    },
    async review(id) {
      const { findRecord } = await import('../reviews/scan.ts');
      const { detailOf } = await import('../page/detail.ts');
      await recorder.written();
      const record = await findRecord(directory, id);
      return record && detailOf(record);
    },
    replay: (id) => control.replay(id),
    async exported(id, format) {
      const { findRecord } = await import('../reviews/scan.ts');
      const { exported } = await import('./reviews.ts');
      await recorder.written();
      const record = await findRecord(directory, id);
      if (record === undefined) return undefined;
      const warnings: string[] = [];
      const emit: Emit = (event) => void (event.type === 'warning' && warnings.push(event.message));
      const checkout = session.context.root;
      return { text: await exported({ format, ids: [id] }, [record], { checkout, emit }), warnings };
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

function statusOf({ context, target }: Session, control: Control, { health, compiler }: Seen): PageStatus {
  const { last: _, ...state } = control.state();
  return {
    state,
    health: wordsFor(health),
    context: context.api.context,
    targets: targetsOf(target),
    ...(compiler === undefined ? {} : { compiler }),
    actions: actionsIn(state),
    canReplay: ANSWERING.has(state.phase),
  };
}

/** The controller runs, whether it gets reviews from the cluster or not. */
const ANSWERING = new Set<SessionPhase>(['serving', 'building', 'held']);

function actionsIn({ phase, route, isHeld, hasController }: PageStatus['state']): PageAction[] {
  if (phase === 'starting' || phase === 'ending') return [];
  return [
    ...(route ? [isHeld ? ('release' as const) : ('hold' as const)] : []),
    ...(hasController ? ['restart' as const] : []),
  ];
}
