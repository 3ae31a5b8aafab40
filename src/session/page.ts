import { join } from 'node:path';
import { findMarked } from '../cluster/takeover/find-marked.ts';
import type { Work } from '../cluster/work.ts';
import { messageOf } from '../errors.ts';
import { hasDesktop, openBrowser, tunnelTo } from '../machine/browser.ts';
import type { PageStatus } from '../page/protocol.ts';
import type { PageServer, PageSession } from '../page/server.ts';
import { buttonsIn } from '../report/actions.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { SessionPhase } from '../report/session-state.ts';
import type { Recorder } from '../reviews/recorder.ts';
import { namespacesOf } from './context/holders.ts';
import { type Facts, healthOf, type SessionFacts } from './context/observed.ts';
import type { Control } from './control/control.ts';
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
  facts: Pick<Facts, 'now'>;
  control: Control;
  recorder: Recorder;
}

export function createPage(session: Session, work: Work, parts: PageParts): SessionPage {
  const { io } = session;
  let serving: Promise<PageServer> | undefined;
  let server: PageServer | undefined;
  const serve = async (): Promise<PageServer> => {
    const { startPageServer } = await import('../page/server.ts');
    server = await startPageServer(shown(session, work, parts), join(import.meta.dirname, 'page'));
    return server;
  };
  const cannotServe = (error: unknown): undefined => {
    // The next key press tries again.
    serving = undefined;
    work.emit(notice('page.not-served', { cause: messageOf(error) }));
  };
  return {
    observe(event) {
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

function shown(session: Session, work: Work, { facts, control, recorder }: PageParts): PageSession {
  const { directory } = session.files;
  return {
    status: () => statusOf(session, control, facts.now),
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
      return { text: await exported({ format }, [record], where), warnings };
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

function statusOf({ context }: Session, control: Control, facts: SessionFacts): PageStatus {
  const { compiler, compared } = facts;
  const { last: _, ...state } = control.state();
  return {
    state,
    health: healthOf(facts),
    context: context.api.context,
    compiler,
    compared,
    actions: buttonsIn(state),
    canReplay: ANSWERING.has(state.phase) && state.stoppedAt === undefined,
  };
}

/** The phases in which the controller runs, whether it gets reviews from the cluster or not. */
const ANSWERING = new Set<SessionPhase>(['serving', 'building', 'held']);
