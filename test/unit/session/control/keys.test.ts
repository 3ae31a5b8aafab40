import { expect, it } from 'vitest';
import { DevloopError } from '../../../../src/errors.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import type { SessionState } from '../../../../src/report/session-state.ts';
import { actionsOf } from '../../../../src/session/control/actions.ts';
import { createControllerLog } from '../../../../src/session/control/controller-log.ts';
import { sessionKeys } from '../../../../src/session/control/keys.ts';

/** `others`: sessions of the same terminal. */
function press(
  keys: string,
  state: Partial<SessionState> = {},
  others: Partial<SessionState>[] = [],
): { calls: string[]; events: DevloopEvent[] } {
  const calls: string[] = [];
  const events: DevloopEvent[] = [];
  const control = {
    state: () => ({ isHeld: false, isFollowing: true, ...state }) as SessionState,
    onState: () => ({ [Symbol.dispose]() {} }),
    hold: () => void calls.push('hold'),
    release: () => calls.push('release'),
    restart() {
      if (state.hasController === false) throw new DevloopError('session.not-ready', 'no controller');
      calls.push('restart');
    },
    followFiles: (on: boolean) => void calls.push(`follow ${on}`),
    replaying: () => ({ paths: [] }),
    replay: () => Promise.reject(new Error('not asked')),
    waiting: () => Promise.reject(new Error('not asked')),
    faults: () => [],
    environment: () => Promise.reject(new Error('not asked')),
    serving: () => Promise.resolve(),
  };
  const emit = (event: DevloopEvent) => void events.push(event);
  const actions = actionsOf({
    ...{ control, log: createControllerLog('all'), emit },
    identity: { asUser: () => void calls.push('me') },
    api: { logIn: async () => void calls.push('login') },
    openPage: async () => void calls.push('page'),
  });
  const session = sessionKeys({ control, actions, emit });
  for (const key of keys) session.onKey(key, [session.state(), ...(others as SessionState[])]);
  return { calls, events };
}

it('each key does one thing, and undoes it the next time', () => {
  expect(press('rhpogi').calls).toEqual(['restart', 'hold', 'follow false', 'page', 'login', 'me']);
  expect(press('hp', { isHeld: true, isFollowing: false }).calls).toEqual(['release', 'follow true']);
  expect(press('ll').events).toMatchObject([
    { code: 'controller.log-toggled', values: { shows: 'warnings' } },
    { code: 'controller.log-toggled', values: { shows: 'all' } },
  ]);
});

it('what is so for one of several sessions, a key ends for all', () => {
  const other = { isHeld: true, isFollowing: false };
  expect(press('hp', {}, [other]).calls).toEqual(['release', 'follow true']);
});

it('other keys do nothing, whatever every object has', () => {
  expect(press('xR \r', {})).toEqual({ calls: [], events: [] });
  const { onKey } = sessionKeys({} as Parameters<typeof sessionKeys>[0]);
  onKey('toString', []);
});

it('says why a key cannot do what it is for', () => {
  const refused = { code: 'action.refused', values: { action: 'restart', cause: 'no controller' } };
  expect(press('r', { hasController: false }).events).toMatchObject([refused]);
});
