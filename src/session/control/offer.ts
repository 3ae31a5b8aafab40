import type { Io } from '../context/options.ts';
import { type KeyActions, sessionKeys } from './keys.ts';
import { handlersOf } from './requests.ts';
import { openSocket } from './socket.ts';

/** Lets people control a session by keys and from other terminals, until disposed. `directory`: of the session. */
export async function offerControl(
  actions: KeyActions,
  { directory, io }: { directory: string; io: Pick<Io, 'attend'> },
): Promise<AsyncDisposable> {
  await using offered = new AsyncDisposableStack();
  offered.use(await openSocket(directory, handlersOf(actions.control), actions.emit));
  offered.use(await io.attend?.(sessionKeys(actions)));
  return offered.move();
}
