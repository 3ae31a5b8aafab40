import type { CallHooks } from '../../api-proxy/observed.ts';
import { CallRecorder } from '../../calls/recorder.ts';
import { listenForReports } from '../../calls/reported.ts';
import { jsonPath } from '../../config/json-path.ts';
import { messageOf } from '../../errors.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Answering } from '../../reviews/answering-build.ts';
import { createRecording } from '../../reviews/recording.ts';

/** What a session learns of what its controller asks of the API server. */
export interface ObservedCalls extends AsyncDisposable {
  hooks: CallHooks;
  /** Where the controller reports its reconciles; absent if it cannot. */
  socket: string | undefined;
  observe(event: DevloopEvent): void;
}

/** Disposed after the API proxy, so that all calls are recorded. `redact`: the fields that the user wants replaced. */
export async function observeCalls(
  { directory, redact }: { directory: string; redact: string[] },
  answering: Answering,
  emit: Emit,
): Promise<ObservedCalls> {
  await using stack = new AsyncDisposableStack();
  const paths = redact.map((path) => jsonPath(path)!);
  const options = { paths, build: () => answering.now().build };
  const recorder = stack.use(new CallRecorder(createRecording(directory, 'calls'), options, emit));
  const socket = `${directory}/reconciles.sock`;
  const listening = await listenForReports(socket, recorder.reported).catch((error: unknown) => {
    emit(notice('calls.no-reconciles', { cause: messageOf(error) }));
    return undefined;
  });
  if (listening) stack.use(listening);
  const owned = stack.move();
  return {
    hooks: recorder.hooks,
    socket: listening && socket,
    observe(event) {
      if (event.type === 'controller.output') recorder.logged(event.line);
      if (event.type === 'controller.exited') recorder.exited();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
