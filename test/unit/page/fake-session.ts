import { isCall } from '../../../src/calls/record.ts';
import type { PageStatus, PageWarning } from '../../../src/page/protocol.ts';
import type { PageSession } from '../../../src/page/server.ts';
import type { CallSummary, ReconcileSummary } from '../../../src/report/call.ts';
import type { FaultSummary } from '../../../src/report/fault.ts';
import type { ReviewSummary, WaitingReview } from '../../../src/report/review.ts';
import { SERVING } from '../../support/session-facts.ts';

export interface FakeSession extends PageSession {
  acted: string[];
  recorded: ReviewSummary[];
  unanswered: WaitingReview[];
  called: (CallSummary | ReconcileSummary)[];
  warned: PageWarning[];
  faulty: FaultSummary[];
  now: PageStatus;
}

/** A session that answers from memory. */
export function fakeSession(more: Partial<PageSession> = {}): FakeSession {
  const session: FakeSession = {
    acted: [],
    recorded: [],
    unanswered: [],
    called: [],
    warned: [],
    faulty: [],
    now: {
      state: SERVING,
      health: 'serving',
      context: 'kind',
      actions: ['hold', 'restart'],
      canReplay: true,
    },
    status: () => session.now,
    async *reviews(after) {
      yield { reviews: session.recorded.filter(({ id }) => id > after), late: [] };
    },
    waiting: () => session.unanswered,
    async *calls({ call, reconcile }) {
      yield session.called.filter((one) => one.id > (isCall(one) ? call : reconcile));
    },
    warnings: () => session.warned,
    faults: () => session.faulty,
    async changeFaults({ add = [], clear = [] }) {
      session.faulty = session.faulty.filter(({ id }) => !clear.includes(id));
      for (const rule of add) session.faulty.push({ id: '9', rule, seen: 0, met: 0, isOver: false });
    },
    async call(id) {
      const call = session.called.filter((one) => isCall(one)).find((one) => one.id === id);
      return call && { call };
    },
    async reconcile(id) {
      const reconcile = session.called.find((one) => one.id === id);
      return reconcile && !isCall(reconcile) ? { reconcile, log: [`log of ${id}`] } : undefined;
    },
    exportedCall: async (id) => ({ text: `json ${id}`, warnings: [] }),
    timeline: async () => ({ entries: [], left: 0 }),
    async review(id) {
      const found = session.recorded.find((one) => one.id === id);
      return found && { review: found, redacted: 0, parts: [], causes: [] };
    },
    async replay(id) {
      session.acted.push(`replay ${id}`);
      return { result: 'changed', differences: [{ title: 'message', text: '-old\n+new' }] };
    },
    exported: async (id, format) => ({ text: `${format} ${id}`, warnings: ['Values are replaced.'] }),
    changes: async () => [],
    async act(action) {
      session.acted.push(action);
    },
    ...more,
  };
  return session;
}
