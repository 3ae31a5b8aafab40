import { describe } from '../../cluster/api/kinds.ts';
import { isLeaseOf } from '../../cluster/names.ts';
import { findMarked, type Marked, type Unseen, unseenText } from '../../cluster/takeover/find-marked.ts';
import {
  type Left,
  removeCreated,
  removeLeases,
  removeRelays,
  restoreServices,
  resumeManagers,
  waitForControllerSlices,
} from '../../cluster/takeover/restore.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';

export interface RestoreOptions {
  /** How long the in-cluster manager may take to become ready. 0: do not wait. */
  readySeconds: number;
  /** Hears how many changes there are to be put back, before the first of them is. */
  onFound?: ((changes: number) => void) | undefined;
  /** Runs when the Services lead to the cluster again, while our own slices are gone: the place to see the old way answer. */
  afterServices?: (() => Promise<void>) | undefined;
}

export interface Restored {
  context: string;
  changes: number;
  left: Left[];
}

/**
 * Puts everything back that carries a session's mark, in the order that keeps a webhook answering: the in-cluster manager wakes
 * first, then the Services lead to it, then what was ours goes. Reads all it needs from the cluster, so it is the end of `up`,
 * the whole of `down`, and the repair after a crash; run twice, it does nothing the second time.
 */
export async function restore(work: Work, namespaces: string[], options: RestoreOptions): Promise<Restored> {
  const { api, sessionId } = work;
  const { marked, unseen } = await findMarked(api, namespaces, { sessionId });
  options.onFound?.(changesOf(marked));
  const services = marked.filter((one) => one.ref.kind === 'Service').map((one) => one.ref);
  const left: Left[] = [];
  const failures: unknown[] = [];
  // A step that fails must not keep the later ones from being tried: each of them leaves less behind.
  const attempt = async (step: () => Promise<unknown>): Promise<void> => {
    await step().catch((error) => failures.push(error));
  };
  await attempt(async () => left.push(...(await resumeManagers(work, marked, options.readySeconds))));
  await attempt(async () => left.push(...(await restoreServices(work, marked))));
  if (options.readySeconds > 0) await attempt(() => waitForControllerSlices(work, services, marked, 3_000));
  await attempt(() => removeCreated(work, marked));
  await attempt(async () => options.afterServices?.());
  await attempt(() => removeRelays(work, marked));
  await attempt(async () => refuseHalf(sessionId, marked, unseen));
  // While something is left to be put back, the Lease goes on saying whose it is.
  if (failures.length > 0) throw failures[0];
  await removeLeases(work, marked);
  return {
    context: api.context,
    changes: changesOf(marked),
    left: left.filter((one) => one.kept.length > 0),
  };
}

/** A Lease says that an object of its kind may have been changed: whoever may not look for that cannot say that it is put back. */
function refuseHalf(sessionId: string, marked: Marked[], unseen: Unseen[]): void {
  const leases = marked.map(({ ref }) => ref).filter(({ kind }) => kind === 'Lease');
  const isHidden = ({ kind, namespace }: Unseen): boolean =>
    leases.some((lease) => isLeaseOf(lease, kind) && lease.namespace === namespace);
  const hidden = unseen.filter(isHidden);
  if (hidden.length === 0) return;
  throw new DevloopError(
    'cluster.forbidden',
    `Session ${sessionId} may have changed what your account may not list: ${unseenText(hidden)}. The rest is put back.`,
    { hint: 'devloop down, by an account that may list and patch it' },
  );
}

/** Leases are no changes. */
export function changesOf(marked: Marked[]): number {
  return marked.filter((one) => one.ref.kind !== 'Lease').length;
}

/** What was kept because somebody else changed it, with the command that settles it. */
export function reportLeft({ context, left }: Restored, emit: Emit): void {
  for (const { ref, kept } of left) {
    for (const { path, now, before } of kept) {
      emit({
        type: 'warning',
        message: `${describe(ref)}: ${path.join('.')} was changed by somebody else to ${JSON.stringify(now ?? null)} and is kept; before devloop it was ${JSON.stringify(before ?? null)}.`,
        hint: `kubectl --context ${context} ${ref.namespace ? `-n ${ref.namespace} ` : ''}patch ${ref.kind.toLowerCase()} ${ref.name} --type json -p '${settlingPatch(path, before)}'`,
      });
    }
  }
}

/** A JSON patch: a merge patch would mix the two values where they are maps. A quote in it would end the shell's. */
function settlingPatch(path: string[], before: unknown): string {
  const pointer = path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  const patch = [
    before === undefined ? { op: 'remove', path: pointer } : { op: 'add', path: pointer, value: before },
  ];
  return JSON.stringify(patch).replaceAll("'", "'\\''");
}
