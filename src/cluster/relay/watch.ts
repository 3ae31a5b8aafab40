import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { DevloopError, messageOf } from '../../errors.ts';
import type { ClusterApi } from '../api/client.ts';
import { describe, type ObjectRef } from '../api/kinds.ts';
import type { Pod } from '../api/objects.ts';
import { relaySecretRef } from '../names.ts';
import type { Work } from '../work.ts';
import { relayDialer } from './dial.ts';
import type { RelaySpec } from './manifest.ts';
import { discard, type StartedRelay, startPod, startRelay } from './pod.ts';
import { relayState } from './state.ts';

const LOOK_EVERY_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

/** A relay that is replaced when its Pod goes. Disposing ends the watch; the Pod goes with the session's marks. */
export interface Relay extends AsyncDisposable {
  readonly namespace: string;
  /** The name of the Pod at this moment. */
  readonly pod: string;
  readonly labels: Record<string, string>;
  /** One new connection to the program's control port. The signal gives up on the opening only. */
  dial(signal: AbortSignal): Promise<Duplex>;
}

/** Starts a relay and keeps one running: evicted, drained, deleted or crashed, another Pod with the same labels takes its place. */
export async function keepRelay(work: Work, spec: RelaySpec): Promise<Relay> {
  let now = await startRelay(work, spec);
  const ending = new AbortController();
  const watching = watch({ ...work, signal: ending.signal }, spec, now, (next) => (now = next));
  const { namespace, labels } = now;
  const dial = relayDialer(work.api);
  return {
    namespace,
    labels,
    get pod() {
      return now.pod;
    },
    dial: (signal) => dial({ ...spec, namespace, pod: now.pod }, signal),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await watching;
    },
  };
}

async function watch(
  work: Work,
  spec: RelaySpec,
  first: StartedRelay,
  replaced: (next: StartedRelay) => void,
): Promise<void> {
  const { api, emit, signal } = work;
  const tell = (message: string, hint?: string): void =>
    emit({ type: 'warning', message, ...(hint === undefined ? {} : { hint }) });
  let now = first;
  let failures = 0;
  while (await sleep(pauseMs(failures), signal)) {
    const ref: ObjectRef = { kind: 'Pod', namespace: now.namespace, name: now.pod };
    const state = await look(api, ref);
    if (state === undefined || state.is === 'ready' || state.is === 'starting') continue;
    const lost = `${describe(ref)} is lost: ${state.cause}.`;
    try {
      const next = await replacement(work, spec);
      if (next === undefined) return;
      tell(`${lost} ${describe({ ...ref, name: next.pod })} takes its place.`);
      now = next;
      replaced(now);
      failures = 0;
      await discard(work, ref);
    } catch (error) {
      if (failures === 0 && !signal.aborted)
        tell(`${lost} Replacing it failed: ${messageOf(error)}`, withPatience(error));
      failures++;
    }
  }
}

function withPatience(error: unknown): string {
  const cure = error instanceof DevloopError ? error.hint : undefined;
  return [cure, 'It is tried again until it succeeds.'].filter(Boolean).join('\n');
}

/** Undefined while nobody can tell: a Pod is not replaced because the API server does not answer. */
async function look(api: ClusterApi, ref: ObjectRef): Promise<ReturnType<typeof relayState> | undefined> {
  try {
    return relayState(await api.get<Pod>(ref), Number.POSITIVE_INFINITY);
  } catch {
    return undefined;
  }
}

/** Undefined once the Secret is gone: `devloop down` was here, which takes it before the Pods, and nothing must come after it. */
async function replacement(work: Work, spec: RelaySpec): Promise<StartedRelay | undefined> {
  const secret = await work.api.get(relaySecretRef(spec.namespace, work.sessionId));
  return secret === undefined ? undefined : await startPod(work, spec, secret);
}

function pauseMs(failures: number): number {
  return Math.min(LOOK_EVERY_MS * 2 ** failures, LONGEST_PAUSE_MS);
}

/** False when the signal has ended the wait. */
async function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
  return await pause(ms, true, { signal }).catch(() => false);
}
