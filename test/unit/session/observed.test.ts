import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import {
  healthOf,
  nothingYet,
  observedAfter,
  type SessionFacts,
} from '../../../src/session/context/observed.ts';
import { reviewOf } from '../../support/session-facts.ts';

const SERVICES = ['shop/first', 'shop/second'];
const READY: DevloopEvent = { type: 'session.ready', session: 's1', ms: 1 };
const LOST: DevloopEvent = { type: 'route.lost', route: 'ssh', cause: 'the network is gone.' };
const RECONNECTED: DevloopEvent = { type: 'route.reconnected', route: 'ssh', via: 'box', ms: 1 };
const BUILT: DevloopEvent = { type: 'build.done', ms: 1 };
const BUILDING: DevloopEvent = { type: 'build.started', reason: [] };
const UNBUILT: DevloopEvent = { type: 'build.failed', ms: 1, output: '' };
const UP: DevloopEvent = { type: 'controller.ready', pid: 1, ms: 1 };
const [FIRST, SECOND] = SERVICES.map(
  (service): DevloopEvent => ({
    type: 'route.verified',
    route: 'ssh',
    address: 'box:1',
    service,
    latencyMs: 1,
  }),
);
const STOPPED: DevloopEvent = { type: 'debug.stopped', file: '/x/y.go', line: 7 };
const RUNNING: DevloopEvent = { type: 'debug.running' };
const LEFT: DevloopEvent = { type: 'debug.left', editor: 'x' };
const SILENT: DevloopEvent = { type: 'controller.silent', pid: 1, ms: 1 };
const DOWN: DevloopEvent = { type: 'controller.down', why: 'the port is in use' };
const EXITED: DevloopEvent = {
  type: 'controller.exited',
  pid: 1,
  code: 1,
  signal: null,
  expected: false,
};

function after(...events: (DevloopEvent | undefined)[]): SessionFacts {
  return events.reduce((now, event) => observedAfter(now, event!), nothingYet(SERVICES));
}

const LOST_WORDS = 'the ssh route is lost (the network is gone); reconnecting';
const BACK_WORDS = 'the ssh route is reconnected, but not verified yet';

it.each([
  ['nothing went wrong', 'serving', [BUILT, FIRST, SECOND, UP, READY]],
  ['not ready yet', 'starting', [BUILT, FIRST, SECOND, UP]],
  ['lost after the cut-over, before it is ready', LOST_WORDS, [FIRST, SECOND, LOST, UP, READY]],
  ['at a breakpoint', 'the controller is at a breakpoint, and reviews wait', [UP, READY, STOPPED]],
  ['running on after a breakpoint', 'serving', [UP, READY, STOPPED, RUNNING]],
  ['the editor left at a breakpoint', 'serving', [UP, READY, STOPPED, LEFT]],
  ['lost between two verifications', LOST_WORDS, [FIRST, LOST, SECOND, READY]],
  ['lost and verified before it is ready', 'serving', [LOST, RECONNECTED, FIRST, SECOND, READY]],
  ['reconnected before it is ready', BACK_WORDS, [FIRST, SECOND, LOST, RECONNECTED, READY]],
  ['reconnected, and verified for one Service', BACK_WORDS, [READY, LOST, RECONNECTED, FIRST]],
  ['reconnected and verified', 'serving', [READY, LOST, RECONNECTED, FIRST, SECOND]],
  ['lost, and a change is built', LOST_WORDS, [READY, LOST, BUILT, UP]],
  [
    'a new controller does not answer',
    'the controller does not answer yet; reviews fail until it does',
    [UP, READY, SILENT, BUILT],
  ],
  [
    'a newer source is built after one that does not build',
    'serving an earlier build; a newer source is being built',
    [UP, READY, UNBUILT, BUILDING],
  ],
  ['a source is built', 'serving', [UP, READY, BUILDING]],
  ['it answers late', 'serving', [UP, READY, SILENT, UP]],
  ['a new controller cannot be started', 'reviews fail: the port is in use', [UP, READY, DOWN, BUILT]],
  ['it is started later', 'serving', [UP, READY, DOWN, UP]],
  [
    'the controller exited, and is not started at once',
    'the controller exited (exit code 1); reviews fail until it serves again',
    [UP, READY, EXITED, DOWN],
  ],
  [
    'the controller exited, and a change is built',
    'the controller exited (exit code 1); reviews fail until it serves again',
    [READY, EXITED, BUILT],
  ],
  [
    'reconnected and verified, while the current source does not build',
    'serving the last build; the current source does not build',
    [READY, UNBUILT, LOST, RECONNECTED, FIRST, SECOND],
  ],
  [
    'reviews are held',
    'reviews are held; devloop release forwards them',
    [READY, { type: 'reviews.held', session: 's1' } as const, UNBUILT],
  ],
  [
    'reviews were held',
    'serving',
    [
      READY,
      { type: 'reviews.held', session: 's1' } as const,
      { type: 'reviews.released', session: 's1', waiting: 0 } as const,
    ],
  ],
  ['stopping', 'restoring', [READY, { type: 'session.stopping', reason: 'SIGINT' } as const, BUILT, UP]],
])('%s: %s', (_when, words, events) => {
  expect(healthOf(after(...events))).toBe(words);
});

const STARTED: DevloopEvent = { type: 'controller.started', pid: 1, command: [], build: '3f2a91c 10:14:58' };

it('keeps what the compiler says until the source builds again', () => {
  const failed: DevloopEvent = { type: 'build.failed', ms: 1, output: 'main.go:1: no' };
  expect(after(failed, { type: 'build.started', reason: [] }).compiler).toBe('main.go:1: no');
  expect(after(failed, { type: 'build.done', ms: 1 }).compiler).toBeUndefined();
});

it('counts which answers of the running build differ, and forgets it with the next one', () => {
  const replayed = (number: number, result: 'same' | 'changed'): DevloopEvent => {
    return { type: 'reviews.replayed', review: reviewOf(number), result };
  };
  const compared: DevloopEvent = { type: 'reviews.compared', replayed: 41, changed: 2, leftOut: 0, ms: 1 };
  const all = [STARTED, replayed(1, 'changed'), replayed(2, 'same'), replayed(3, 'changed'), compared];
  expect(after(...all).compared).toEqual({ replayed: 41, changed: 2, ids: ['r-000001', 'r-000003'] });
  expect(after(...all, STARTED)).toMatchObject({ changed: [], compared: undefined });
});

it('as whom the controller works changes with the account', () => {
  const account = 'system:serviceaccount:shop:manager';
  const token: DevloopEvent = { type: 'controller.identity', how: 'token', account };
  expect(after(token).account).toBe(account);
  expect(after(token, { type: 'controller.identity', how: 'user' }).account).toBeUndefined();
});
