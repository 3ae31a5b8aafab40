import { isDeepStrictEqual } from 'node:util';
import { loadConfig } from '../config/load.ts';
import { KEYS, rowOf, valueIn } from '../config/table.ts';
import { DevloopError } from '../errors.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import type { Io } from './context/options.ts';
import { warnOf } from './end/outcome.ts';

/** Takes one Deployment over, and restores it when the signal of `io` aborts. In a dry run, only prints the plan. */
export type UpOne = (deployment: string, io: Io) => Promise<void>;

/** Plans all Deployments before the first is taken over. If a plan fails, emits the events of that plan and throws its error. */
export async function planEach(deployments: string[], io: Io, planOne: UpOne): Promise<void> {
  for (const deployment of deployments) {
    const events: DevloopEvent[] = [];
    try {
      await planOne(deployment, { ...io, emit: (event) => events.push(event) });
    } catch (error) {
      for (const event of events) io.emit(event, deployment);
      throw error;
    }
  }
}

/**
 * Takes over several Deployments of one operator, each in a session of its own. They start one after the other, so that each finds the
 * ports that the others use here. When one session ends, all do; the first error is thrown.
 */
export async function upEach(deployments: string[], io: Io, upOne: UpOne): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  let failure: { error: unknown } | undefined;
  const end = (deployment: string, error: unknown): void => {
    if (failure !== undefined) warnOf(error, (event) => io.emit(event, deployment));
    failure ??= { error };
    ending.abort(`the session of ${deployment} has ended`);
  };
  const sessions: Promise<void>[] = [];
  const isSaid = saidBefore();
  for (const deployment of deployments) {
    if (signal.aborted) break;
    const begun = Promise.withResolvers<void>();
    const emit: Emit = (event) => {
      if (!isSaid(event)) io.emit(event, deployment);
      if (event.type === 'session.ready') begun.resolve();
    };
    const session = upOne(deployment, { ...io, emit, signal }).catch((error) => end(deployment, error));
    sessions.push(session.finally(() => begun.resolve()));
    await begun.promise;
  }
  await Promise.all(sessions);
  if (failure !== undefined) throw failure.error;
}

/** The sessions share a checkout, so each finds the same differences of its manifests. Only the first to find one reports it. */
function saidBefore(): (event: DevloopEvent) => boolean {
  const last = new Map<string, DevloopEvent>();
  return (event) => {
    if (event.type !== 'manifest') return false;
    const { kind, namespace = '', name } = event.object;
    const key = `${kind} ${namespace}/${name}`;
    const isKnown = isDeepStrictEqual(last.get(key), event);
    last.set(key, event);
    return isKnown;
  };
}

/** Throws `usage.invalid` if devloop.yaml has settings that can apply to one controller only. */
export async function assertForSeveral(cwd: string): Promise<void> {
  const loaded = await loadConfig(cwd);
  const set = KEYS.filter(
    (key) => loaded && valueIn(loaded.config, key) !== undefined && rowOf(key).isOfOneController,
  );
  if (loaded === undefined || set.length === 0) return;
  throw new DevloopError(
    'usage.invalid',
    `${loaded.file} sets ${set.join(', ')}, which can apply to only one controller, but several Deployments are named.`,
    {
      hint: `Remove ${set.length === 1 ? 'it' : 'them'} from devloop.yaml, or run devloop up for each Deployment in a terminal of its own.`,
    },
  );
}
