import { backOff, sleep } from '../../async.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { Work } from '../../cluster/work.ts';
import { messageOf } from '../../errors.ts';
import { otherMounts } from '../../local/plan-mounts.ts';
import { type ConfigurationSource, configurationSources } from '../../operator/configuration.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { describe } from '../../report/object-name.ts';
import type { Replanned, Replanning } from './replan.ts';
import { WatchedObjects } from './watched-objects.ts';

/** The objects that one `kubectl apply` changes are read together. */
const SETTLE_MS = 300;
/** What changes all the time is copied less and less often, at last as often as the kubelet looks. */
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;
/** Reading the settings rests this many times as long as it took: answering reviews comes first. */
const REST = 19;
/** How soon it is noticed that a new version of the manager mounts other objects. */
const LOOK_EVERY_MS = 5_000;

export interface FollowedConfiguration {
  replanning: Replanning;
  /** The directories in which the manager's container sees the key pairs, which are renewed in another way. */
  keyPairMounts: string[];
}

/**
 * Follows the ConfigMaps and Secrets that the manager's container mounts or gets variables from, until the signal aborts: copies of mounted
 * files change as in a Pod, and variables at the next start.
 */
export async function followConfiguration(
  { replanning, keyPairMounts }: FollowedConfiguration,
  work: Work,
): Promise<void> {
  const { signal } = work;
  const objects = new WatchedObjects(work);
  const teller = createTeller(work.emit);
  let isFirst = true;
  const update = async (sources: ConfigurationSource[]): Promise<void> => {
    await sleep(SETTLE_MS, signal);
    const changed = objects.take();
    try {
      const replanned = await replanning.again({ api: objects.api, emit: teller.emitNew(isFirst) });
      if (replanned) teller.tell(replanned, isFirst ? [] : changed, sources);
      isFirst = false;
    } catch (error) {
      if (signal.aborted) return;
      teller.fail(error);
      objects.put(changed);
    }
  };
  for (let restless = 0; !signal.aborted; await objects.next(LOOK_EVERY_MS)) {
    const sources = sourcesOf(replanning, keyPairMounts);
    await objects.watch(sources);
    if (signal.aborted || !objects.isChanged) continue;
    const before = performance.now();
    await update(sources);
    const took = performance.now() - before - SETTLE_MS;
    await sleep(Math.max(backOff(restless, FIRST_REST_MS, LONGEST_REST_MS), REST * took), signal);
    restless = objects.isChanged ? restless + 1 : 0;
  }
}

function sourcesOf({ manager }: Replanning, keyPairMounts: string[]): ConfigurationSource[] {
  const namespace = manager?.object.metadata.namespace;
  if (manager === undefined || namespace === undefined) return [];
  return configurationSources(manager.container, otherMounts(manager, keyPairMounts), namespace);
}

/** Says each thing once, except that files have changed, which somebody waits for. */
function createTeller(emit: Emit) {
  const said = new Set<string>();
  const once = (key: string, say: () => void): void => {
    if (!said.has(key)) say();
    said.add(key);
  };
  return {
    /** Planning says again what it said at the start. `isFirst`: whether that is all that it says. */
    emitNew:
      (isFirst: boolean): Emit =>
      (event) => {
        if (event.type !== 'note' && event.type !== 'warning') return emit(event);
        // A copy for the next start is in another directory.
        const { to: _, ...values } = { to: undefined, ...event.values };
        once(JSON.stringify([event.code, values]), () => void (isFirst || emit(event)));
      },
    tell(
      { files, filesAtStart, variables }: Replanned,
      changed: ObjectRef[],
      sources: ConfigurationSource[],
    ): void {
      const of = (paths: string[]): ObjectRef[] => {
        const refs = sources
          .filter((one) => one.paths.some((path) => paths.includes(path)))
          .map(({ ref }) => ref);
        const own = refs.filter((ref) => changed.some((one) => describe(one) === describe(ref)));
        return own.length > 0 ? own : refs;
      };
      if (files.length > 0) emit(notice('configuration.updated', { objects: of(files), paths: files }));
      for (const path of filesAtStart)
        once(`at start ${path}`, () => emit(notice('configuration.sub-path', { objects: of([path]), path })));
      // What was edited while the session began is not known by its event; its files tell.
      const edited = changed.length > 0 ? changed : of([...files, ...filesAtStart]);
      const objects = edited.length > 0 ? edited : sources.map(({ ref }) => ref);
      const key = `variables ${objects.map(describe).join()}`;
      if (variables.length > 0)
        once(key, () => emit(notice('configuration.variables', { objects, variables })));
    },
    fail(error: unknown): void {
      const cause = messageOf(error);
      once(`failed ${cause}`, () => emit(notice('configuration.not-updated', { cause })));
    },
  };
}
