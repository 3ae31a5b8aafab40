import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { healthAfter, STARTING, wordsFor } from '../../../src/session/context/health.ts';

const SERVICES = ['shop/first', 'shop/second'];
const READY: DevloopEvent = { type: 'session.ready', session: 's1', ms: 1 };
const LOST: DevloopEvent = { type: 'route.lost', route: 'ssh', cause: 'the network is gone.' };
const MENDED: DevloopEvent = { type: 'route.reconnected', route: 'ssh', via: 'box', ms: 1 };
const BUILT: DevloopEvent = { type: 'build.done', ms: 1 };
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
const EXITED: DevloopEvent = {
  type: 'controller.exited',
  pid: 1,
  code: 1,
  signal: null,
  expected: false,
};

function after(...events: (DevloopEvent | undefined)[]): string {
  const health = events.reduce((now, event) => healthAfter(now, event!, SERVICES), STARTING);
  return wordsFor(health);
}

const LOST_WORDS = 'the ssh route is lost (the network is gone) and is being mended';
const BACK_WORDS = 'the ssh route is back, but not proven yet';

it.each([
  ['all is well', 'serving', [BUILT, FIRST, SECOND, UP, READY]],
  ['not ready yet', 'starting', [BUILT, FIRST, SECOND, UP]],
  ['lost after the cut-over, before it is ready', LOST_WORDS, [FIRST, SECOND, LOST, UP, READY]],
  ['lost between two proofs', LOST_WORDS, [FIRST, LOST, SECOND, READY]],
  ['lost and proven before it is ready', 'serving', [LOST, MENDED, FIRST, SECOND, READY]],
  ['back before it is ready', BACK_WORDS, [FIRST, SECOND, LOST, MENDED, READY]],
  ['back, and proven for one Service', BACK_WORDS, [READY, LOST, MENDED, FIRST]],
  ['back and proven', 'serving', [READY, LOST, MENDED, FIRST, SECOND]],
  ['lost, and a change is built', LOST_WORDS, [READY, LOST, BUILT, UP]],
  [
    'ended, and a change is built',
    'the controller ended (exit code 1); reviews fail until it serves again',
    [READY, EXITED, BUILT],
  ],
  [
    'back and proven, while the newest source does not build',
    'serving the last program that was built; the newest source does not build',
    [READY, UNBUILT, LOST, MENDED, FIRST, SECOND],
  ],
  [
    'on its way out',
    'putting everything back',
    [READY, { type: 'session.stopping', reason: 'SIGINT' } as const, BUILT, UP],
  ],
])('%s: %s', (_when, words, events) => {
  expect(after(...events)).toBe(words);
});
