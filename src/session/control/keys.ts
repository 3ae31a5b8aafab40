import { messageOf } from '../../errors.ts';
import { type ActionName, actionOf } from '../../report/actions.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { AttendedSession } from '../../report/session-state.ts';
import type { Io } from '../context/options.ts';
import type { Actions } from './actions.ts';
import type { Control } from './control.ts';
import { handlersOf } from './requests.ts';
import type { Restored } from './restored.ts';
import { openSocket } from './socket.ts';

export interface Controls {
  control: Control;
  actions: Actions;
  restored: Restored;
  emit: Emit;
}

/** Lets people control a session by keys and from other terminals, until disposed. `directory`: the directory of the session. */
export async function offerControl(
  controls: Controls,
  { directory, io }: { directory: string; io: Pick<Io, 'attend' | 'onAsked'> },
): Promise<AsyncDisposable> {
  const { control, actions, restored, emit } = controls;
  await using offered = new AsyncDisposableStack();
  offered.use(await openSocket(directory, handlersOf(control, actions, restored), emit, io.onAsked));
  offered.use(await io.attend?.(sessionKeys(controls)));
  return offered.move();
}

/** What the keys do with a running session. The terminal itself handles `?`, `q` and Ctrl-C. */
export function sessionKeys(controls: Omit<Controls, 'restored'>): AttendedSession {
  const { control } = controls;
  return {
    state: () => control.state(),
    onState: (listener) => control.onState(listener),
    onKey(key, all) {
      const name = actionOf(key, all);
      if (name !== undefined) void act(controls, name);
    },
  };
}

/** Never rejects. */
async function act({ actions, emit }: Pick<Controls, 'actions' | 'emit'>, action: ActionName): Promise<void> {
  try {
    await actions[action]();
  } catch (error) {
    emit(notice('action.refused', { action, cause: messageOf(error) }));
  }
}
