import { randomBytes } from 'node:crypto';
import { DevloopError } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import type { ClusterApi } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { describe, type ObjectRef, refOf } from '../api/kinds.ts';
import type { KubeObject, Pod } from '../api/objects.ts';
import { createMarked } from '../marks/change.ts';
import { givesUids, type RelaySpec, relayLabels, relayPod, relaySecret, relaySecretRef } from './manifest.ts';
import { refusalHint, relayState } from './state.ts';

/** Pulling the image is most of it, and happens once a node. */
const READY_SECONDS = 120;
const POLL_MS = 100;

export interface StartRelayOptions extends RelaySpec {
  emit: Emit;
  /** Ends the wait, never a write. */
  signal: AbortSignal;
}

export interface StartedRelay {
  namespace: string;
  /** The Pod's name. */
  pod: string;
  /** What the Service's selector is swapped to. */
  labels: Record<string, string>;
}

/**
 * Creates the relay's Secret and Pod and waits until the program listens. Both are marked from birth, so that `devloop down`
 * finds them from anywhere; where the start fails they are removed at once. Rejects with `relay.failed`, or `interrupted`.
 */
export async function startRelay(api: ClusterApi, options: StartRelayOptions): Promise<StartedRelay> {
  const ref = relaySecretRef(options);
  try {
    const secret = await created(createMarked(api, ref, relaySecret(options), options.emit), ref);
    return await startPod(api, options, secret);
  } catch (error) {
    await discard(api, ref, options.emit);
    throw error;
  }
}

/** One more Pod for a Secret that is there. */
export async function startPod(
  api: ClusterApi,
  options: StartRelayOptions,
  secret: KubeObject,
): Promise<StartedRelay> {
  const { session, namespace, emit } = options;
  const place: ObjectRef = { kind: 'Namespace', name: namespace };
  // Who may not look at the namespace is hardly on OpenShift, where everybody may.
  const uid = !givesUids(await api.get<KubeObject>(place).catch(() => undefined));
  const pod = relayPod(options, { secret, suffix: randomBytes(2).toString('hex'), uid });
  const ref = refOf('Pod', pod.metadata);
  try {
    await created(createMarked(api, ref, pod, emit), ref);
    await waitUntilReady(api, ref, options);
  } catch (error) {
    await discard(api, ref, emit);
    throw error;
  }
  return { namespace, pod: ref.name, labels: relayLabels(session) };
}

/** What the API server or somebody's policy says about the creation, told as a failure of the relay. */
async function created<T>(creation: Promise<T>, ref: ObjectRef): Promise<T> {
  try {
    return await creation;
  } catch (error) {
    const refusal = error instanceof DevloopError ? error.cause : undefined;
    if (!(refusal instanceof ApiError)) throw error;
    throw relayFailed(ref, `it cannot be created: ${refusal.message}`, refusalHint(refusal, ref), refusal);
  }
}

async function waitUntilReady(
  api: ClusterApi,
  ref: ObjectRef,
  { emit, signal }: StartRelayOptions,
): Promise<void> {
  const started = Date.now();
  for (let told = 0; ; ) {
    const ageMs = Date.now() - started;
    const state = relayState(await api.get<Pod>(ref), ageMs);
    if (state.is === 'ready') return;
    if (state.is !== 'starting') throw relayFailed(ref, state.cause, state.hint);
    const seconds = Math.floor(ageMs / 1000);
    const what = `${describe(ref)}: ${state.for}`;
    if (seconds >= READY_SECONDS)
      throw relayFailed(ref, `not ready within ${READY_SECONDS} s (${state.for})`);
    if (seconds > told) emit({ type: 'waiting', for: what, seconds, limitSeconds: READY_SECONDS });
    told = seconds;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (signal.aborted)
      throw new DevloopError('interrupted', `Interrupted while waiting for ${what}.`, {
        hint: 'devloop down puts everything back',
      });
  }
}

function relayFailed(ref: ObjectRef, cause: string, hint?: string, error?: unknown): DevloopError {
  return new DevloopError('relay.failed', `${describe(ref)} does not run: ${cause}`, {
    hint: hint ?? `kubectl -n ${ref.namespace} describe pod ${ref.name}`,
    cause: error,
  });
}

/** What cannot be removed now carries the session's mark, and goes with the rest. */
export async function discard(api: ClusterApi, ref: ObjectRef, emit: Emit): Promise<void> {
  if (await api.remove(ref).catch(() => false))
    emit({ type: 'change', action: 'delete', object: ref, detail: '' });
}
