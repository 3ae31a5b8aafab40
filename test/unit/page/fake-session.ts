import type { PageStatus } from '../../../src/page/protocol.ts';
import type { PageSession } from '../../../src/page/server.ts';
import type { ReviewSummary } from '../../../src/report/events.ts';

export function review(number: number, more: Partial<ReviewSummary> = {}): ReviewSummary {
  return {
    id: `r-${String(number).padStart(6, '0')}`,
    at: '2026-11-22T10:15:02.114Z',
    kind: 'admission',
    webhook: 'vapplication.kb.io',
    path: '/validate',
    operation: 'CREATE',
    resource: { group: 'shop', version: 'v1', kind: 'Application' },
    object: { namespace: 'default', name: `web-${number}` },
    user: 'ann',
    verdict: 'allowed',
    ms: { held: 0, controller: 7, total: 8, budget: 10_000 },
    ...more,
  };
}

export interface FakeSession extends PageSession {
  acted: string[];
  recorded: ReviewSummary[];
  now: PageStatus;
}

/** A session that answers from memory. */
export function fakeSession(more: Partial<PageSession> = {}): FakeSession {
  const session: FakeSession = {
    acted: [],
    recorded: [],
    now: {
      state: {
        session: 'abcd1234',
        phase: 'serving',
        build: { is: 'current', id: '3f2a91c 10:14:58 +dirty' },
        route: { name: 'direct', address: '10.99.1.1:39939', isOpen: true },
        isHeld: false,
        isFollowing: true,
        held: 0,
        reviewsPerMinute: 12,
        hasController: true,
      },
      health: 'serving',
      context: 'kind',
      targets: [{ kind: 'Deployment', namespace: 'shop', name: 'shop-manager' }],
      actions: ['hold', 'restart'],
      canReplay: true,
    },
    status: () => session.now,
    async *reviews(after) {
      yield session.recorded.filter(({ id }) => id > after);
    },
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
