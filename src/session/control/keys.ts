import type { ClusterApi } from '../../cluster/api/client.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import type { AttendedSession, SessionState } from '../../report/session-state.ts';
import type { Io } from '../context/options.ts';
import type { Control } from './control.ts';
import type { ControllerLog } from './controller-log.ts';
import { handlersOf } from './requests.ts';
import { openSocket } from './socket.ts';

/** Lets people control a session by keys and from other terminals, until disposed. `directory`: the directory of the session. */
export async function offerControl(
  actions: KeyActions,
  { directory, io }: { directory: string; io: Pick<Io, 'attend'> },
): Promise<AsyncDisposable> {
  await using offered = new AsyncDisposableStack();
  offered.use(await openSocket(directory, handlersOf(actions.control), actions.emit));
  offered.use(await io.attend?.(sessionKeys(actions)));
  return offered.move();
}

interface KeyActions {
  api: Pick<ClusterApi, 'logIn'>;
  control: Control;
  log: ControllerLog;
  emit: Emit;
  openPage(): Promise<void>;
}

/** What the keys do with a running session. The terminal itself handles `?`, `q` and Ctrl-C. */
export function sessionKeys({ api, control, log, emit, openPage }: KeyActions): AttendedSession {
  const note = (message: string): void => emit({ type: 'note', message });
  const logIn = async (): Promise<void> => {
    try {
      await api.logIn();
      note('the cluster accepts your login');
    } catch (error) {
      note(messageOf(error));
    }
  };
  const keys: Record<string, (all: SessionState[]) => void> = {
    r: () => control.restart(),
    // If any session is held, or does not follow files, the key undoes that in all of them.
    h: (all) => void (all.some(({ isHeld }) => isHeld) ? control.release() : control.hold()),
    o: () => void openPage(),
    p: (all) => control.followFiles(all.some(({ isFollowing }) => !isFollowing)),
    g: () => void logIn(),
    l: () => note(`the controller's log is ${log.toggle() ? 'shown again' : 'hidden; l shows it again'}`),
  };
  return {
    state: () => control.state(),
    onState: (listener) => control.onState(listener),
    onKey(key, all) {
      try {
        if (Object.hasOwn(keys, key)) keys[key]!(all);
      } catch (error) {
        if (!(error instanceof DevloopError)) throw error;
        note(error.message);
      }
    },
  };
}
