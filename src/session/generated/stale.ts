import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DevloopError, messageOf } from '../../errors.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { differencesOf } from '../../operator/manifests/differences.ts';
import { manifestsIn } from '../../operator/manifests/read.ts';
import type { ManifestDifference } from '../../report/manifest.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from '../context/options.ts';
import { type Generated, Generating } from './generate.ts';

const WORDS: Record<ManifestDifference['is'], string> = {
  'only here': 'is missing',
  'only in the cluster': 'is left over',
  different: 'differs',
};

/**
 * Says what `make manifests` would change in the checkout, if that is missing or older than the code. Applies nothing, and writes only to
 * `scratch`. The session goes on, whatever is in the checkout.
 */
export async function noticeStale(place: Place, io: StaleIo): Promise<void> {
  try {
    const generating = await Generating.of(place.root);
    const { isMissing, old } = (await generating?.age()) ?? { isMissing: false, old: [] };
    // Other code with markers is edited all the time, and `devloop rbac` compares roles.
    const types = old.filter(({ generator }) => generator === 'crd').map(({ directory }) => directory);
    if (generating === undefined || (!isMissing && types.length === 0)) return;
    const found = await generating.program(io);
    if ('command' in found) await report(generating, found.command, place, io);
    else if (types.length > 0)
      io.emit(
        notice('manifests.maybe-old', {
          directories: types,
          why: found.why,
          command: generating.advice(io),
        }),
      );
  } catch (error) {
    // What does not compile is shown by the build.
    if (!io.signal.aborted && !(error instanceof DevloopError))
      io.emit(notice('manifests.not-compared', { cause: messageOf(error) }));
  }
}

interface Place {
  root: string;
  scratch: string;
}

type StaleIo = Pick<Io, 'env' | 'emit' | 'signal'>;

async function report(
  generating: Generating,
  program: string[],
  { root, scratch }: Place,
  io: StaleIo,
): Promise<void> {
  const { command } = generating;
  const generated = await generating.run(program, scratch, io);
  for (const file of generated.missing) io.emit(notice('manifests.missing', { file, command }));
  for (const file of generated.old) {
    const changes = await changesOf(file, root, generated);
    if (changes.length > 0) io.emit(notice('manifests.old', { file, changes, command }));
  }
}

async function changesOf(file: string, root: string, { directory }: Generated): Promise<string[]> {
  const now = await manifestsIn(file, await readFile(join(directory, file), 'utf8'));
  const before = await manifestsIn(file, await readTextFile(join(root, file)));
  return now.flatMap((manifest) => {
    const { kind, object } = manifest;
    const { name } = object.metadata;
    const same = before.find((one) => one.kind === kind && one.object.metadata.name === name);
    if (same === undefined) return [`${kind} ${name} is missing`];
    return differencesOf(manifest, same.object).map(({ what, is }) => `${what} ${WORDS[is]}`);
  });
}
