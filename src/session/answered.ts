import { jsonPath } from '../config/json-path.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { type Answering, createAnswering } from '../reviews/answering.ts';
import { Recorder } from '../reviews/recorder.ts';
import { createRecording } from '../reviews/recording.ts';
import type { ReplayFacts } from './control/control.ts';
import { createReplaying } from './replaying.ts';
import type { Session } from './start/session.ts';

/** What a session does with reviews that were answered: it records them, and with `--replay` sends them again after each restart. */
export interface Answered extends AsyncDisposable {
  recorder: Recorder;
  answering: Answering;
  observe(event: DevloopEvent): void;
  facts(): ReplayFacts;
}

/** Disposing ends the replay; the recorder is for whoever ends the gateways. */
export function createAnswered(
  { options, context, files }: Session,
  { emit, signal }: { emit: Emit; signal: AbortSignal },
): Answered {
  const named = [...options.redact, ...(context.config.redact ?? [])];
  const paths = named.map((path) => jsonPath(path)!);
  const answering = createAnswering();
  const replaying = options.replay ? createReplaying(paths, { emit, signal }) : undefined;
  const onRecord = replaying && { onRecord: replaying.keep };
  const recorder = new Recorder(createRecording(files.directory), { answering, paths, ...onRecord }, emit);
  return {
    recorder,
    answering,
    observe(event) {
      answering.observe(event);
      replaying?.observe(event);
    },
    facts: () => ({ paths: named, build: answering.now().build }),
    async [Symbol.asyncDispose]() {
      await replaying?.[Symbol.asyncDispose]();
    },
  };
}
