import type { Duplex } from 'node:stream';
import { backOff, sleep } from '../../async.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ClusterApi } from '../api/client.ts';
import type { ObjectRef } from '../api/kinds.ts';
import { type Permission, permissionsOn } from '../api/permissions.ts';
import type { Pod } from '../api/workloads.ts';
import { ANY_SESSION, relayPodName, relaySecretRef } from '../names.ts';
import type { Step } from '../step.ts';
import type { Work } from '../work.ts';
import { relayDialer } from './dial.ts';
import type { RelaySpec } from './manifest.ts';
import { discard, type StartedRelay, startPod, startRelay } from './pod.ts';
import { relayState } from './state.ts';

const LOOK_EVERY_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
/** How long a warning about a deleted Secret waits: a restore deletes the Secret and the Pod, and then ends the watch. */
const ENDING_MS = 5_000;

/** A relay whose Pod is replaced when it disappears. Disposing stops the watch; the Pod is deleted with everything else of the session. */
export interface Relay extends AsyncDisposable {
  readonly namespace: string;
  /** The name of the current Pod. */
  readonly pod: string;
  readonly labels: Record<string, string>;
  /** Opens a new connection to the program's control port. The signal ends only the attempt to connect. */
  dial(signal: AbortSignal): Promise<Duplex>;
  /** Called when both ends have proved their identity over the last connection: the next one is dialled the same way. */
  onProved(): void;
}

export function relayPermissions(namespace: string): Permission[] {
  const reach = { namespace, why: 'reach the relay', subresource: 'portforward' };
  return [
    ...permissionsOn('Pod', 'get list create delete', { namespace, why: 'run the relay' }),
    ...permissionsOn('Secret', 'get create delete', {
      namespace,
      why: 'give the relay its program and its key',
    }),
    // Opening a WebSocket is a GET; Kubernetes 1.35 and newer require `create` as well.
    ...permissionsOn('Pod', 'get create', reach),
    ...permissionsOn('Pod', 'get', {
      ...reach,
      subresource: 'proxy',
      without: 'the relay is slower, because devloop uses a port-forward',
    }),
    ...permissionsOn('NetworkPolicy', 'list', {
      namespace,
      why: 'warn about policies that block the relay',
      without: 'devloop does not warn about policies that block the relay',
    }),
  ];
}

/** Starts a relay and keeps one running: when its Pod is evicted or deleted, or crashes, another one with the same labels replaces it. */
export function keepRelay(namespace: string): Step<(work: Work, spec: RelaySpec) => Promise<Relay>> {
  const pod = { kind: 'Pod' as const, namespace, name: relayPodName(ANY_SESSION, '*') };
  return {
    changes: [
      {
        action: 'create',
        object: relaySecretRef(namespace, ANY_SESSION),
        detail: "the relay's program and key",
      },
      { action: 'create', object: pod, detail: 'the relay' },
    ],
    permissions: relayPermissions(namespace),
    apply: startAndWatch,
  };
}

async function startAndWatch(work: Work, spec: RelaySpec): Promise<Relay> {
  let now = await startRelay(work, spec);
  const ending = new AbortController();
  const { namespace, labels } = now;
  const watched = { ...work, signal: ending.signal };
  const watching = replaceLostPods(watched, spec, now, (next) => (now = next)).then(async (lost) => {
    const isEnding = lost === undefined || !(await sleep(ENDING_MS, ending.signal));
    if (isEnding || work.signal.aborted) return;
    work.emit(notice('relay.lost', { ...lost, secret: relaySecretRef(namespace, work.sessionId) }));
  });
  const dialer = relayDialer(work.api);
  return {
    namespace,
    labels,
    get pod() {
      return now.pod;
    },
    dial: (signal) => dialer.dial({ ...spec, namespace, pod: now.pod }, signal),
    onProved: dialer.onProved,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await watching;
    },
  };
}

/** Resolves to undefined when the signal aborts, or to a Pod that cannot be replaced, and what happened to it. */
async function replaceLostPods(
  work: Work,
  spec: RelaySpec,
  first: StartedRelay,
  replaced: (next: StartedRelay) => void,
): Promise<{ pod: ObjectRef; cause: string } | undefined> {
  const { api, emit, signal } = work;
  let now = first;
  let failures = 0;
  while (await sleep(backOff(failures, LOOK_EVERY_MS, LONGEST_PAUSE_MS), signal)) {
    const ref: ObjectRef = { kind: 'Pod', namespace: now.namespace, name: now.pod };
    const state = await look(api, ref);
    if (state === undefined || state.is === 'ready' || state.is === 'starting') continue;
    const lost = { pod: ref, cause: state.cause };
    try {
      const next = await replacement(work, spec);
      if (next === undefined) return lost;
      emit(notice('relay.replaced', { ...lost, by: { ...ref, name: next.pod } }));
      now = next;
      replaced(now);
      failures = 0;
      await discard(work, ref);
    } catch (error) {
      if (failures === 0 && !signal.aborted)
        emit(notice('relay.not-replaced', { ...lost, ...failureOf(error) }));
      failures++;
    }
  }
  return undefined;
}

function failureOf(error: unknown): { failure: string; next?: string } {
  const next = error instanceof DevloopError ? error.hint : undefined;
  return { failure: messageOf(error), ...(next !== undefined && { next }) };
}

/** The relay's state; undefined if the Pod cannot be read at the moment, which is no reason to replace it. */
async function look(api: ClusterApi, ref: ObjectRef): Promise<ReturnType<typeof relayState> | undefined> {
  try {
    return relayState(await api.get<Pod>(ref), Number.POSITIVE_INFINITY);
  } catch {
    return undefined;
  }
}

/** Starts another Pod, unless the Secret is gone: `devloop down` deletes it before the Pods, and no Pod must be created after that. */
async function replacement(work: Work, spec: RelaySpec): Promise<StartedRelay | undefined> {
  const secret = await work.api.get(relaySecretRef(spec.namespace, work.sessionId));
  return secret === undefined ? undefined : await startPod(work, spec, secret);
}
