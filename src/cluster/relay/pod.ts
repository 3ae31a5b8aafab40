import { randomBytes } from 'node:crypto';
import { sleep } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import { ApiError, isTransient } from '../api/errors.ts';
import { type ObjectRef, refOf } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Pod } from '../api/workloads.ts';
import { createMarked } from '../marks/change.ts';
import { relayLabels, relaySecretRef } from '../names.ts';
import type { Work } from '../work.ts';
import { assignsUserIds, type RelaySpec, relayPod, relaySecret } from './manifest.ts';
import { type RelayState, refusalHint, relayState } from './state.ts';

/** Most of this time is for pulling the image, once for each node. */
const READY_SECONDS = 120;
const POLL_MS = 100;

export interface StartedRelay {
  namespace: string;
  /** The Pod's name. */
  pod: string;
  /** What the Service selects instead of the operator's Pods. */
  labels: Record<string, string>;
}

/**
 * Creates the relay's Secret and Pod and waits until the program listens. Both have the session's label from the start, so that
 * `devloop down` finds them; if the start fails, they are deleted at once. Rejects with `relay.failed` or `interrupted`.
 */
export async function startRelay(work: Work, spec: RelaySpec): Promise<StartedRelay> {
  const ref = relaySecretRef(spec.namespace, work.sessionId);
  try {
    const secret = await created(createMarked(work, ref, relaySecret(spec, work.sessionId)), ref);
    return await startPod(work, spec, secret);
  } catch (error) {
    await discard(work, ref);
    throw error;
  }
}

/** Creates a Pod for an existing Secret, and waits until it is ready. */
export async function startPod(work: Work, spec: RelaySpec, secret: KubeObject): Promise<StartedRelay> {
  const { api, sessionId } = work;
  const { namespace } = spec;
  const place: ObjectRef = { kind: 'Namespace', name: namespace };
  // On OpenShift everybody is allowed to read the namespace, so if that is forbidden, this is not OpenShift.
  const runAsUser = !assignsUserIds(await api.get<KubeObject>(place).catch(() => undefined));
  const pod = relayPod(spec, sessionId, { secret, suffix: randomBytes(2).toString('hex'), runAsUser });
  const ref = refOf('Pod', pod.metadata);
  try {
    await created(createMarked(work, ref, pod), ref);
    await waitUntilReady(work, ref);
  } catch (error) {
    await discard(work, ref);
    throw error;
  }
  return { namespace, pod: ref.name, labels: relayLabels(sessionId) };
}

/** Turns a refused creation into a failure of the relay. */
async function created<T>(creation: Promise<T>, ref: ObjectRef): Promise<T> {
  try {
    return await creation;
  } catch (error) {
    const refusal = error instanceof DevloopError ? error.cause : undefined;
    if (!(refusal instanceof ApiError)) throw error;
    throw relayFailed(ref, `it cannot be created: ${refusal.message}`, refusalHint(refusal, ref), refusal);
  }
}

async function waitUntilReady({ api, emit, signal }: Work, ref: ObjectRef): Promise<void> {
  const started = performance.now();
  for (let reported = 0; ; ) {
    const ageMs = performance.now() - started;
    const state = await api.get<Pod>(ref).then((pod) => relayState(pod, ageMs), stillStarting);
    if (state.is === 'ready') return;
    if (state.is !== 'starting') throw relayFailed(ref, state.cause, state.hint);
    const seconds = Math.floor(ageMs / 1000);
    const what = `${describe(ref)}: ${state.for}`;
    if (seconds >= READY_SECONDS)
      throw relayFailed(ref, `not ready within ${READY_SECONDS} s (${state.for})`);
    if (seconds > reported) emit({ type: 'waiting', for: what, seconds, limitSeconds: READY_SECONDS });
    reported = seconds;
    if (!(await sleep(POLL_MS, signal)))
      throw new DevloopError('interrupted', `Interrupted while waiting for ${what}.`);
  }
}

/** Without an answer from the API server, the Pod counts as starting. */
function stillStarting(error: unknown): RelayState {
  if (!isTransient(error)) throw error;
  return { is: 'starting', for: 'the API server' };
}

function relayFailed(ref: ObjectRef, cause: string, hint?: string, error?: unknown): DevloopError {
  return new DevloopError('relay.failed', `${describe(ref)} does not run: ${cause}`, {
    hint: hint ?? `kubectl -n ${shellWord(ref.namespace)} describe pod ${shellWord(ref.name)}`,
    cause: error,
  });
}

/** Deletes an object. If that fails, the session's label remains on it, so it is deleted later with everything else. */
export async function discard({ api, emit }: Work, ref: ObjectRef): Promise<void> {
  if (await api.remove(ref).catch(() => false))
    emit({ type: 'change', action: 'delete', object: ref, detail: '' });
}
