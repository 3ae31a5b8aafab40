import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { sleep } from '../async.ts';
import type { Work } from '../cluster/work.ts';
import { watchDirectories } from '../controller/watch/directories.ts';
import { DevloopError, messageOf } from '../errors.ts';
import { type ComparedWith, compareManifests } from '../operator/manifests/compare.ts';
import type { ComparedManifest } from '../report/manifest.ts';
import { notice } from '../report/notices/catalogue.ts';

/** The files that one command writes, such as `make manifests`, are read together. */
const SETTLE_MS = 500;

/**
 * Reports how the CRDs, roles and webhook configurations of the checkout differ from the cluster's: at the start, and again when one of
 * their files changes, until the signal aborts. What cannot be compared now is left to `doctor`, which says why.
 */
export async function followManifests(
  what: Omit<ComparedWith, 'api'>,
  { api, emit, signal }: Pick<Work, 'api' | 'emit' | 'signal'>,
): Promise<void> {
  const { root } = what;
  let known: ComparedManifest[] = [];
  let isWarned = false;
  /** The session goes on, whatever is in a file of the checkout. `doctor` reports why the cluster cannot be read. */
  const notCompared = (error: unknown): undefined => {
    if (isWarned || signal.aborted || error instanceof DevloopError) return;
    isWarned = true;
    emit(notice('manifests.not-compared', { cause: messageOf(error) }));
  };
  const report = async (): Promise<ComparedManifest[]> => {
    const compared = await compareManifests({ api, ...what }).then(({ compared }) => compared, notCompared);
    if (compared === undefined || signal.aborted) return [];
    const said = (one: ComparedManifest) => known.some((before) => isDeepStrictEqual(before, one));
    const wasDifferent = (one: ComparedManifest) =>
      known.some(({ object, is }) => is !== 'same' && isDeepStrictEqual(object, one.object));
    for (const one of compared)
      if (!said(one) && (one.is !== 'same' || wasDifferent(one))) emit({ type: 'manifest', ...one });
    known = compared;
    return compared;
  };
  const first = await report();
  const directories = [
    ...new Set(first.flatMap(({ file }) => (file === undefined ? [] : [join(root, dirname(file))]))),
  ];
  if (directories.length === 0 || signal.aborted) return;
  let isDue = false;
  const changed = async (): Promise<void> => {
    if (isDue) return;
    isDue = true;
    const isOver = !(await sleep(SETTLE_MS, signal));
    isDue = false;
    if (!isOver) await report();
  };
  await using _ = await watchDirectories(
    { directories, recursive: false, isOutside: () => false },
    {
      onPath: (path) => /\.ya?ml$/.test(path) && void changed(),
      onBack: () => void changed(),
      onError: () => {},
    },
    signal,
  );
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
