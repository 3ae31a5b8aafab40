import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { notice } from '../../../../src/report/notices/catalogue.ts';
import { Facts } from '../../../../src/session/context/observed.ts';
import { createControl, type ObservingControl } from '../../../../src/session/control/control.ts';

interface Setup {
  control: ObservingControl;
  /** Passes an event to the session. */
  observe(event: DevloopEvent): void;
  events: DevloopEvent[];
  calls: string[];
  ending: AbortController;
}

function setUp(parts: { webhooks?: boolean; controller?: boolean } = {}): Setup {
  const { webhooks = true, controller = true } = parts;
  const events: DevloopEvent[] = [];
  const calls: string[] = [];
  const ending = new AbortController();
  const gateways = {
    holdForUser: () => void calls.push('hold'),
    releaseForUser: () => void calls.push('release'),
    held: 2,
  };
  const supervisor = {
    restart: () => void calls.push('restart'),
    followFiles: (on: boolean) => void calls.push(`follow ${on}`),
    ignoredFiles: () => ['hook.go'],
    look: () => Promise.resolve(),
    standing: () => ({ is: 'serving' as const }),
  };
  const facts = new Facts([]);
  const control = createControl({
    ...{ session: 's', name: 'shop', facts },
    controlled: {
      gateways: () => (webhooks ? gateways : undefined),
      supervisor: () => (controller ? supervisor : undefined),
      replaying: () => ({ paths: [] }),
      replay: () => Promise.reject(new Error('not asked')),
      waiting: () => Promise.reject(new Error('not asked')),
      faults: () => [],
      environment: () => Promise.reject(new Error('not asked')),
      longWaits: () => ({ count: 3, leftMs: 18_900 }),
    },
    emit(event) {
      events.push(event);
      observe(event);
    },
    signal: ending.signal,
  });
  const observe = (event: DevloopEvent): void => {
    facts.observe(event);
    control.observe(event);
  };
  return { control, observe, events, calls, ending };
}

const READY: DevloopEvent = { type: 'session.ready', session: 's', ms: 1 };
const pid = 1;
const STARTED: DevloopEvent = { type: 'controller.started', pid, command: [], build: '3f2a91c' };

it.each<[string, DevloopEvent[], string]>([
  ['before the take-over is complete', [], 'starting'],
  ['after it', [READY], 'serving'],
  ['during a build', [READY, { type: 'build.started', reason: ['a.go'] }], 'building'],
  [
    'after one that failed',
    [READY, { type: 'build.started', reason: [] }, { type: 'build.failed', ms: 1, output: '' }],
    'serving',
  ],
  [
    'while the old process ends',
    [READY, { type: 'controller.exited', pid, code: 0, signal: null, expected: true }],
    'restarting',
  ],
  ['while the new one starts', [READY, STARTED], 'restarting'],
  ['when it answers', [READY, STARTED, { type: 'controller.ready', pid, ms: 1 }], 'serving'],
  [
    'without a controller, since it cannot be started again',
    [
      READY,
      { type: 'controller.exited', pid, code: 0, signal: null, expected: true },
      { type: 'controller.down', why: 'its port is in use' },
    ],
    'failed',
  ],
  [
    'after an exit that devloop did not bring about',
    [READY, { type: 'controller.exited', pid, code: 2, signal: null, expected: false }],
    'failed',
  ],
  ['while reviews are held', [READY, { type: 'reviews.held', session: 's' }], 'held'],
  ['at a breakpoint', [READY, { type: 'debug.stopped', line: 42 }], 'stopped'],
  ['when it runs on', [READY, { type: 'debug.stopped' }, { type: 'debug.running' }], 'serving'],
])('%s a session is %s', (_, events, phase) => {
  const { control, observe } = setUp();
  for (const event of events) observe(event);
  expect(control.state().phase).toBe(phase);
});

it('knows the route, whether the newest source serves, and the last review', () => {
  const { control, observe } = setUp();
  const route = { route: 'direct', service: 'shop/hook', address: '10.0.0.1:1', latencyMs: 1 };
  const ms = { held: 0, controller: 1, total: 1, budget: 10 };
  const review = {
    id: 'r-1',
    at: '',
    kind: 'admission',
    webhook: 'v',
    path: '/v',
    verdict: 'denied',
    ms,
  } as const;
  observe({ type: 'route.verified', ...route });
  observe({ type: 'build.done', ms: 1 });
  observe(STARTED);
  observe({ type: 'build.failed', ms: 1, output: '' });
  observe({ type: 'review', ...review });
  observe({ type: 'route.lost', route: 'direct', cause: '' });
  expect(control.state()).toMatchObject({
    route: { name: 'direct', address: '10.0.0.1:1', isOpen: false },
    build: { is: 'broken', id: '3f2a91c' },
    last: review,
    held: 2,
    reviewsPerMinute: 1,
  });
});

it('knows where the controller stands in the debugger, until it runs on or is replaced', () => {
  const { control, observe } = setUp();
  const stop = (): void =>
    observe({
      type: 'debug.stopped',
      file: '/src/hook.go',
      line: 42,
      function: 'example.com/shop/v1.(*Hook).Default',
    });
  for (const next of [{ type: 'debug.running' } as const, STARTED]) {
    stop();
    expect(control.state().stoppedAt).toBe('hook.go:42 in v1.(*Hook).Default');
    observe({ type: 'debug.stepped', file: '/src/hook.go', line: 43 });
    expect(control.state().stoppedAt).toBe('hook.go:43');
    observe(next);
    expect(control.state().stoppedAt).toBeUndefined();
    expect(control.state().secondsLeft).toBeUndefined();
  }
});

it.each<[DevloopEvent]>([[{ type: 'debug.stopped', line: 42 }], [{ type: 'reviews.held', session: 's' }]])(
  'knows how many reviews wait, and for how long they still can, after %o',
  (event) => {
    const { control, observe } = setUp();
    observe(READY);
    expect(control.state().secondsLeft).toBeUndefined();
    observe(event);
    expect(control.state()).toMatchObject({ held: 3, secondsLeft: 18 });
  },
);

it('holds and releases once, however often it is asked, and says so once', () => {
  const { control, observe, events, calls } = setUp();
  observe(READY);
  control.hold();
  control.hold();
  expect(control.release()).toBe(2);
  expect(control.release()).toBe(0);
  expect(events).toEqual([
    { type: 'reviews.held', session: 's' },
    { type: 'reviews.released', session: 's', waiting: 2 },
  ]);
  expect(new Set(calls)).toEqual(new Set(['hold', 'release']));
});

it('says which files have changed while it ignored them, before they are built', () => {
  const { control, observe, events, calls } = setUp();
  observe(READY);
  control.followFiles(false);
  expect(control.state()).toMatchObject({ isFollowing: false, ignoredFiles: 1 });
  control.followFiles(true);
  expect(events).toEqual([{ type: 'files.ignored' }, { type: 'files.followed', files: ['hook.go'] }]);
  expect(calls).toEqual(['follow false', 'follow true']);
});

it('tells its listeners of each change until they are disposed', () => {
  const { control, observe, ending } = setUp();
  const phases: string[] = [];
  const listening = control.onState(() => phases.push(control.state().phase));
  observe(READY);
  observe(notice('login.output', { line: 'nothing about the session' }));
  ending.abort();
  listening[Symbol.dispose]();
  observe(READY);
  expect(phases).toEqual(['serving', 'ending']);
});

it.each<[string, Parameters<typeof setUp>[0], (control: ObservingControl) => void]>([
  ['hold', { webhooks: false }, (control) => control.hold()],
  ['restart', { controller: false }, (control) => control.restart()],
  ['followFiles', { controller: false }, (control) => control.followFiles(false)],
])(
  'refuses to %s where there is nothing to, before the session is ready, and when it ends',
  (_, parts, act) => {
    const refused = expect.objectContaining({ code: 'session.not-ready' });
    const none = setUp(parts);
    none.observe(READY);
    expect(() => act(none.control)).toThrow(refused);
    const { control, observe, calls, ending } = setUp();
    expect(() => act(control)).toThrow(refused);
    observe(READY);
    act(control);
    expect(calls).toHaveLength(1);
    ending.abort();
    expect(() => act(control)).toThrow(refused);
    expect(calls).toHaveLength(1);
  },
);
