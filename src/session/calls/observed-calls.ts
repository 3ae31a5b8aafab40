import { reviewMark } from '../../api-proxy/answer-warnings.ts';
import type { ApiCall } from '../../api-proxy/api-call.ts';
import type { CallHooks } from '../../api-proxy/observed.ts';
import { createWarner } from '../../async.ts';
import { InFlight } from '../../calls/in-flight.ts';
import { Needs } from '../../calls/needs.ts';
import { NeedsFile, type NeedsOf } from '../../calls/needs-file.ts';
import { readBefore } from '../../calls/read-before.ts';
import { CallRecorder } from '../../calls/recorder.ts';
import { listenForReports, type ReportedHooks } from '../../calls/reported.ts';
import type { Forwarder } from '../../cluster/api/pass-on.ts';
import { jsonPath } from '../../config/json-path.ts';
import { messageOf } from '../../errors.ts';
import type { CallSummary, ReconcileSummary } from '../../report/call.ts';
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
  /** Calls the listener with each call and each reconcile that is recorded from now on. */
  onRecord(listener: (recorded: CallSummary | ReconcileSummary) => void): void;
  /** Resolves when all of which a listener knows can be read from the recording. */
  written(): Promise<void>;
  /** Whoever calls this begins something else: what the controller does again and again is counted from now on. */
  anew(): void;
  /** What the gateway adds to its answer to a review that a call of the controller may have caused. */
  marks(review: Buffer): string[];
}

/** What of a session decides what is observed. */
interface ObservedSession {
  answering: Answering;
  /** Whether the controller works as this user. */
  isControllers(user: string): boolean;
  /** Calls the API server as the controller does. */
  upstream: Pick<Forwarder, 'forward'>;
  /** Aborts when the session begins to end. */
  signal: AbortSignal;
  /** Gets what the controller reports, too. */
  reported?: ReportedHooks;
}

/** Disposed after the API proxy, so that all calls are recorded. `redact`: the fields that the user wants replaced. `of`: whose calls they are. */
export async function observeCalls(
  { directory, redact, of }: { directory: string; redact: string[]; of: NeedsOf },
  { answering, isControllers, upstream, signal, reported }: ObservedSession,
  emit: Emit,
): Promise<ObservedCalls> {
  await using stack = new AsyncDisposableStack();
  const warn = createWarner(emit);
  const paths = redact.map((path) => jsonPath(path)!);
  const listeners: Parameters<ObservedCalls['onRecord']>[0][] = [];
  const onRecord = (recorded: CallSummary | ReconcileSummary): void => {
    for (const listener of listeners) listener(recorded);
  };
  const options = { paths, build: () => answering.now().build, signal, onRecord };
  const recorder = stack.use(new CallRecorder(createRecording(directory, 'calls'), options, emit));
  const needs = new Needs();
  const onError = (error: unknown): void => warn(notice('rbac.not-recorded', { cause: messageOf(error) }));
  const needsFile = stack.use(new NeedsFile(directory, { of, needs }, onError));
  const socket = `${directory}/reconciles.sock`;
  const listening = await listenForReports(socket, both(recorder.reported, reported)).catch(
    (error: unknown) => {
      emit(notice('calls.no-reconciles', { cause: messageOf(error) }));
      return undefined;
    },
  );
  if (listening) stack.use(listening);
  const readFirst = async (call: ApiCall, signal: AbortSignal): Promise<void> => {
    const read = await readBefore(call, upstream, signal);
    if (read) recorder.read(read, call);
  };
  const inFlight = new InFlight(isControllers);
  const owned = stack.move();
  return {
    hooks: {
      ...recorder.hooks,
      beforeWrite: (call, signal) => (recorder.asksBefore(call) ? readFirst(call, signal) : undefined),
      begun: (call) => inFlight.begun(call),
      served(served) {
        inFlight.ended(served.call);
        recorder.hooks.served(served);
        needs.served(served);
        needsFile.changed();
      },
      opened(call, headers) {
        needs.opened(call, headers);
        needsFile.changed();
      },
    },
    socket: listening && socket,
    observe(event) {
      if (event.type === 'controller.output') recorder.logged(event.line);
      if (event.type === 'controller.exited') recorder.exited();
    },
    onRecord: (listener) => void listeners.push(listener),
    written: () => recorder.written(),
    anew: () => recorder.anew(),
    marks(review) {
      const uid = inFlight.uidIfCaused(review);
      return uid === undefined ? [] : [reviewMark(uid)];
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function both(one: ReportedHooks, other: ReportedHooks | undefined): ReportedHooks {
  if (other === undefined) return one;
  return {
    begun(begun) {
      one.begun(begun);
      other.begun(begun);
    },
    ended(ended) {
      one.ended(ended);
      other.ended(ended);
    },
  };
}
