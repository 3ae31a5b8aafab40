import { accountOf } from '../../cluster/api/account.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { jsonPath } from '../../config/json-path.ts';
import { DevloopError } from '../../errors.ts';
import { targetPorts } from '../../operator/target.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { type Answering, createAnswering } from '../../reviews/answering-build.ts';
import { Recorder, type WaitingReviews } from '../../reviews/recorder.ts';
import { createRecording } from '../../reviews/recording.ts';
import type { Replayed } from '../../reviews/replay.ts';
import type { ControlledParts, ReplayedEvent, ReplayFacts } from '../control/control.ts';
import type { Identity } from '../start/identity.ts';
import type { Session } from '../start/session.ts';
import { createReplaying } from './replay-after-restart.ts';

/** What a session does with answered reviews: it records them, and with `--replay` sends them again after each restart. */
export interface AnsweredReviews extends AsyncDisposable {
  recorder: Recorder;
  answering: Answering;
  /** Whether the controller works as this user. */
  isControllers(user: string): boolean;
  observe(event: DevloopEvent): void;
  facts(): ReplayFacts;
  replay(id: string): Promise<ReplayedEvent>;
  waiting(): Promise<WaitingReviews>;
  longWaits: ControlledParts['longWaits'];
}

/** Disposing ends the replay, but not the recorder: that is disposed after the gateways, so that it gets all reviews. */
export function createAnswered(
  { options, context, files, moved, target }: Session,
  { emit, signal }: { emit: Emit; signal: AbortSignal },
  identity: Pick<Identity, 'username'>,
): AnsweredReviews {
  const named = context.settings.redact.value ?? [];
  const paths = named.map((path) => jsonPath(path)!);
  const answering = createAnswering();
  const replaying = options.replay ? createReplaying({ paths, moved }, { emit, signal }) : undefined;
  const onRecord = replaying && { onRecord: replaying.keep };
  const isUser = ownUser(context.api, signal);
  // The controller's own writes are reviewed, too.
  const isControllers = (user: string): boolean => {
    const account = identity.username();
    return account === undefined ? isUser(user) : user === account;
  };
  const isOwn = (user: string): boolean => isUser(user) || isControllers(user);
  const recorder = new Recorder(
    createRecording(files.directory),
    { answering, paths, isOwn, ...onRecord },
    emit,
  );
  return {
    recorder,
    answering,
    isControllers,
    observe(event) {
      answering.observe(event);
      replaying?.observe(event);
    },
    facts: () => ({ paths: named, build: answering.now().build, ports: portsOf(target, moved) }),
    async replay(id) {
      const { findRecord } = await import('../../reviews/scan.ts');
      await recorder.written();
      const record = await findRecord(files.directory, id);
      if (record === undefined)
        throw new DevloopError('review.not-found', `Review ${id} is no longer recorded.`);
      // Loaded only when it is needed, like the module above.
      const { replay, replayedEvent } = await import('../../reviews/replay.ts');
      const found: ReplayedEvent[] = [];
      const onReplayed = (one: Replayed): void => void found.push(replayedEvent(one));
      await replay([record], { paths, moved, withSideEffects: false, atOnce: 1, signal, onReplayed });
      return found[0]!;
    },
    async waiting() {
      await recorder.caughtUp();
      const waiting = recorder.waiting();
      await recorder.written();
      return waiting;
    },
    longWaits() {
      const left = recorder.waiting().reviews.map(({ ms }) => ms.budget - ms.total);
      return left.length === 0 ? { count: 0 } : { count: left.length, leftMs: Math.min(...left) };
    },
    async [Symbol.asyncDispose]() {
      await replaying?.[Symbol.asyncDispose]();
    },
  };
}

function portsOf({ services }: Session['target'], moved: Session['moved']): [number, number][] {
  return targetPorts(services).map((port) => [port, moved.get(port) ?? port]);
}

/**
 * Reads the name of the user's account once, in parallel with everything else. If the API server does not answer, nobody counts as the user.
 */
function ownUser(api: ClusterApi, signal: AbortSignal): (user: string) => boolean {
  let own: string | undefined;
  accountOf(api, { signal }).then(
    (account) => (own = account?.username),
    () => {},
  );
  return (user) => user !== '' && user === own;
}
