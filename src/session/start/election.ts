import { hostname } from 'node:os';
import { pollUntil, sleep } from '../../async.ts';
import { type ObjectRef, refOf } from '../../cluster/api/kinds.ts';
import type { Lease } from '../../cluster/api/objects.ts';
import type { Pod } from '../../cluster/api/workloads.ts';
import { isHeldBy } from '../../cluster/takeover/pause/leader-lease.ts';
import { freeLease, isLastOfItsName, wasLedBy } from '../../cluster/takeover/pause/leadership.ts';
import type { Work } from '../../cluster/work.ts';
import { type Candidate, type Election, electionLine } from '../../controller/election.ts';
import { causeOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { describe } from '../../report/object-name.ts';
import type { AdmittedStart, Starts } from './starts.ts';
import { isLastWrite } from './written-leases.ts';

/** A candidate that leads this soon has not waited. */
const NOTICED_MS = 1_000;
const POLL_MS = 250;
/** The manager's Pods have a minute to end. */
const POD_MS = 60_000;
/** A controller elects a leader with one Lease or two, but its log may quote anything. */
const MOST_LEASES = 4;
/** At the end of a session, a Lease that cannot be freed expires. */
const LAST_MS = 5_000;

export interface FollowedElection extends Election, AsyncDisposable {}

/**
 * Frees the Lease of a controller that has ended, so that the next one, or the in-cluster manager, leads at once. While a controller waits
 * for its Lease, frees it when the Pod that holds it has ended, and says who holds it otherwise. Needs no permission that `up` requires:
 * without, the Lease expires.
 */
export function followElection(
  { api, emit, sessionId }: Work,
  { endedPods, begin, host = hostname() }: ElectionInputs,
): FollowedElection {
  const closing = new AbortController();
  const work: Work = { api, emit, sessionId, signal: closing.signal };
  const freeing = new Set<Promise<void>>();
  let isRefused = false;
  const free = async (ref: ObjectRef, isOver: Parameters<typeof freeLease>[2]): Promise<void> => {
    try {
      const holder = await freeLease(work, ref, isOver);
      if (holder !== undefined) emit({ type: 'leader.released', lease: ref, holder });
    } catch (error) {
      if (closing.signal.aborted || isRefused) return;
      isRefused = true;
      emit(notice('leader.not-released', { lease: ref, ...causeOf(error) }));
    }
  };
  const freeOfPod = async (ref: ObjectRef): Promise<void> => {
    // In another namespace, a Pod of the same name may be alive. There, the Lease expires.
    const pods = endedPods().filter(({ metadata }) => metadata.namespace === ref.namespace);
    if (pods.length === 0) return;
    await free(ref, async (lease) => {
      const pod = pods.find(({ metadata }) => isHeldBy(lease, metadata.name));
      return pod !== undefined && (await isLastOfItsName(api, pod));
    });
  };
  return {
    attend: () =>
      createCandidate({
        ...{ work, host, freeOfPod, start: begin?.() },
        free: (...args) => keep(freeing, free(...args)),
        isRefused: () => isRefused,
      }),
    async [Symbol.asyncDispose]() {
      const done = new AbortController();
      void sleep(LAST_MS, done.signal).then((isOver) => isOver && closing.abort());
      await Promise.all(freeing);
      done.abort();
      closing.abort();
    },
  };
}

interface ElectionInputs {
  /** The manager's Pods whose containers have ended. */
  endedPods(): Pod[];
  /** Admits a controller that starts to the API proxy. */
  begin?: Starts['begin'] | undefined;
  host?: string;
}

interface ElectionParts {
  work: Work;
  host: string;
  /** Absent without the API proxy. */
  start: AdmittedStart | undefined;
  freeOfPod(ref: ObjectRef): Promise<void>;
  /** Whether the Lease cannot be freed. */
  isRefused(): boolean;
  free(ref: ObjectRef, isOver: Parameters<typeof freeLease>[2]): void;
}

function keep(all: Set<Promise<void>>, one: Promise<void>): void {
  all.add(one);
  void one.finally(() => all.delete(one));
}

function createCandidate({ work, host, start, freeOfPod, free, isRefused }: ElectionParts): Candidate {
  const startedMs = Date.now();
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, work.signal]);
  const waiting = new Map<string, AbortController>();
  const led = new Map<string, { ref: ObjectRef; saidMs: number }>();
  const wait = async (ref: ObjectRef): Promise<void> => {
    const since = performance.now();
    const elected = new AbortController();
    waiting.set(describe(ref), elected);
    const unelected = AbortSignal.any([signal, elected.signal]);
    const polling = async (): Promise<boolean> => {
      await freeOfPod(ref);
      return isRefused();
    };
    void pollUntil(polling, { everyMs: POLL_MS, limitMs: POD_MS, signal: unelected });
    if (!(await sleep(NOTICED_MS, unelected))) return;
    const lease = await work.api.get<Lease>(ref).catch(() => undefined);
    if (unelected.aborted) return;
    const { holderIdentity: holder } = lease?.spec ?? {};
    work.emit({ type: 'leader.waiting', lease: ref, ...(holder ? { holder } : {}) });
    elected.signal.addEventListener('abort', () => {
      const ms = Math.round(performance.now() - since);
      work.emit({ type: 'leader.elected', lease: ref, ms });
    });
  };
  const isOneTooMany = (name: string): boolean => {
    const known = new Set([...waiting.keys(), ...led.keys()]);
    return known.size >= MOST_LEASES && !known.has(name);
  };
  return {
    reads(line) {
      const said = electionLine(line);
      if (said === undefined) return;
      const ref = refOf('Lease', said);
      if (isOneTooMany(describe(ref))) return;
      if (said.is === 'candidate') return void (waiting.has(describe(ref)) || wait(ref));
      led.set(describe(ref), { ref, saidMs: Date.now() });
      waiting.get(describe(ref))?.abort();
    },
    ended(isGone) {
      over.abort();
      start?.end();
      for (const one of start?.leases.led((ref) => led.has(describe(ref))) ?? []) {
        free(one.ref, (lease) => isLastWrite(lease, one));
        led.delete(describe(one.ref));
      }
      // What remains has not passed the API proxy.
      if (!isGone) return;
      const endedMs = Date.now();
      for (const { ref, saidMs } of led.values())
        free(ref, (lease) => wasLedBy(lease, { host, startedMs, saidMs, endedMs }));
    },
  };
}
