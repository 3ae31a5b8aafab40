/** A cluster in which everybody takes turns: each call is a task of fast-check's scheduler, which decides whose turn is next. */
import type fc from 'fast-check';
import type { ClusterApi } from '../../../src/cluster/api/client.ts';
import type { EndpointSlice, KubeObject } from '../../../src/cluster/api/objects.ts';
import { sessionOf } from '../../../src/cluster/marks/marks.ts';
import { MANAGED_BY } from '../../../src/cluster/names.ts';
import { SERVICE_NAME } from '../../../src/cluster/takeover/endpoints.ts';
import { isControllerSlice } from '../../../src/cluster/takeover/slices.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { type Change, type FakeCluster, fakeCluster } from '../fake-cluster.ts';
import { type FakeWatches, fakeWatches } from '../fake-watches.ts';
import { MIRRORED } from './controllers.ts';
import { NAMESPACE } from './objects.ts';
import { createWitness, partedBy } from './told.ts';

export interface World {
  live: FakeCluster;
  /** The same cluster as it would be if nobody had ever used devloop. Each write of others is made there, too. */
  without: FakeCluster;
  watches: FakeWatches;
  /** Resolves when the scheduler picks it. */
  turn(what: string): Promise<void>;
  /** When the longest wait for a turn began, on the clock of performance.now(). */
  waitingSince(): number | undefined;
  /** Calls may take seconds. */
  isSlow: boolean;
  /** What devloop told its users. */
  events: DevloopEvent[];
  tell(event: DevloopEvent): void;
  /** Objects about which a user was told that they are not as they would be without devloop. */
  parted: Set<string>;
  /** From now on, what devloop reports about others must be true. */
  beginToWitness(): void;
  /** What must never happen, but did. */
  faults: string[];
  changes: ((change: Change) => void)[];
}

/** A process of devloop. */
export interface Process {
  name: string;
  /** kill -9: from now on, none of its calls is answered. */
  isKilled: boolean;
  /** The sessions whose objects it may write: its own, and those that it restores. */
  sessions: Set<string>;
  /** The command has ended. */
  isOver: boolean;
  /** How many slices of Services that are not its own it has deleted in a row. */
  late: number;
}

export function createWorld(scheduler: fc.Scheduler, isSlow: boolean): World {
  const live = fakeCluster();
  const changes: World['changes'] = [];
  live.onChange = (change) => {
    for (const see of changes) see(change);
  };
  const waiting = new Set<{ since: number }>();
  const watches = fakeWatches(live, NAMESPACE);
  const witness = createWitness();
  const faults: string[] = [];
  changes.push((change) => watches.record(change));
  const without = fakeCluster();
  const events: DevloopEvent[] = [];
  const parted = new Set<string>();
  return {
    live,
    without,
    watches,
    async turn(what) {
      const one = { since: performance.now() };
      waiting.add(one);
      await scheduler.schedule(Promise.resolve(), what);
      waiting.delete(one);
    },
    // The oldest one is the first, because nothing is inserted later.
    waitingSince: () => waiting.values().next().value?.since,
    isSlow,
    events,
    tell(event) {
      events.push(event);
      faults.push(...witness.liesIn(event));
      for (const one of partedBy(event, without)) parted.add(one);
    },
    parted,
    beginToWitness: () => void changes.push(witness.see),
    faults,
    changes,
  };
}

const NEVER = new Promise<never>(() => {});

/** The API client of a process of devloop. */
export function clientOf(world: World, process: Process): ClusterApi {
  const api = world.live.as('devloop');
  const turn = async (what: string): Promise<void> => {
    await world.turn(`${process.name}: ${what}`);
    if (process.isKilled) await NEVER;
  };
  const read = async <T>(what: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    await turn(what);
    signal?.throwIfAborted();
    return await work();
  };
  // Others may see a write before its writer has the answer.
  const write = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    if (process.isOver) world.faults.push(`${process.name} continues after its end: ${what}`);
    await turn(what);
    const over = watchWrites(world, process);
    const [done] = await Promise.allSettled([work()]).finally(over);
    await turn(`answer to ${what}`);
    if (done.status === 'rejected') throw done.reason;
    return done.value;
  };
  return {
    ...api,
    get: (ref, options) => read(`get ${ref.kind} ${ref.name}`, () => api.get(ref), options?.signal),
    list: (kind, namespace, options) =>
      read(`list ${kind}`, () => api.list(kind, namespace, options), options?.signal),
    create: (ref, object) => write(`create ${ref.kind} ${ref.name}`, () => api.create(ref, object)),
    replace: (ref, object) => write(`replace ${ref.kind} ${ref.name}`, () => api.replace(ref, object)),
    // A renewal that is still in progress at the end changes nothing.
    patch: (ref, type, patch) =>
      (ref.kind === 'Lease' ? read : write)(`patch ${ref.kind} ${ref.name}`, () =>
        api.patch(ref, type, patch),
      ),
    remove: (ref, uid) => write(`delete ${ref.kind} ${ref.name}`, () => api.remove(ref, uid)),
    call: (method, path, _body, options) => {
      if (method !== 'GET') throw new Error(`nobody expects ${method} ${path}`);
      return read(
        `list ${path}`,
        () => world.watches.list(path, options?.query ?? {}) as never,
        options?.signal,
      );
    },
    openStream: (path, options) =>
      read(`watch ${path}`, () => world.watches.open(path, options, turn), options.signal),
  };
}

export function newProcess(name: string, sessions: string[]): Process {
  return { name, isKilled: false, sessions: new Set(sessions), isOver: false, late: 0 };
}

/** A late answer shows an earlier state, so a session that has lost a Service can still empty this many of its slices. */
const MOST_LATE = 8;

/** A session never writes to what another one holds, and does not continue with the slices of a Service that it has lost. */
function watchWrites({ live, changes, faults }: World, process: Process): () => void {
  const { name, sessions } = process;
  const isIts = (object: KubeObject | undefined): boolean =>
    object !== undefined && sessions.has(sessionOf(object) ?? '');
  const see = ({ type, ref, before }: Change): void => {
    const holder = before && sessionOf(before);
    if (['Service', 'Deployment'].includes(ref.kind) && holder !== undefined && !isIts(before))
      faults.push(`${name} wrote into ${ref.kind} ${ref.name}, which ${holder} held`);
    if (ref.kind !== 'EndpointSlice' || before === undefined || !isControllerSlice(before as EndpointSlice))
      return;
    const isMirrored = before.metadata.labels![MANAGED_BY] === MIRRORED;
    // The controller would wait for it forever if it had not seen it yet.
    if (type === 'DELETED' && !isMirrored)
      faults.push(`${name} deleted ${ref.name}, which its controller needs`);
    const service = before.metadata.labels![SERVICE_NAME]!;
    if (isIts(live.read('Service', service, NAMESPACE))) process.late = 0;
    else if (++process.late > MOST_LATE) faults.push(`${name} keeps writing ${ref.name} of ${service}`);
  };
  changes.push(see);
  return () => void changes.splice(changes.indexOf(see), 1);
}
