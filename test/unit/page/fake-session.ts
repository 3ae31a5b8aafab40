import type { PageStatus } from '../../../src/page/protocol.ts';
import type { PageSession } from '../../../src/page/server.ts';
import type { ReviewSummary, WaitingReview } from '../../../src/report/review.ts';
import { SERVING } from '../../support/session-facts.ts';

export interface FakeSession extends PageSession {
  acted: string[];
  recorded: ReviewSummary[];
  unanswered: WaitingReview[];
  now: PageStatus;
}

/** A session that answers from memory. */
export function fakeSession(more: Partial<PageSession> = {}): FakeSession {
  const session: FakeSession = {
    acted: [],
    recorded: [],
    unanswered: [],
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
    async review(id) {
      const found = session.recorded.find((one) => one.id === id);
      return found && { review: found, redacted: 0, parts: [] };
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
