/** No change is missed, however files come and go: in a burst, in a directory that is just being created, by a rename. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'vitest';
import { record, repeat, SOAK } from '../../../support/repeat.ts';
import { directoryWith, put } from '../support/places.ts';
import { watchIn } from '../support/watching.ts';

const LIMIT_MS = 30_000;
const BURST = SOAK ? 2_000 : 200;
const DIRECTORIES = 20;

async function watchedTree(files: Record<string, string> = {}) {
  const directory = await directoryWith({ 'src/mark': '', ...files });
  const { expectChanges } = await watchIn(directory, { paths: ['src'] });
  return { directory, changesAre: (...files: string[]) => expectChanges(files, 'src/mark') };
}

it('reports all files of a burst: new ones, changed ones, and removed ones', async () => {
  const names = Array.from({ length: BURST }, (_, index) => `src/${index % DIRECTORIES}/f${index}`);
  const directories = Object.fromEntries(names.slice(0, DIRECTORIES).map((name) => [`${name}.0`, '']));
  const { directory, changesAre } = await watchedTree(directories);
  const started = performance.now();
  let files = 0;
  await repeat('bursts of files', { soak: 3, limitMs: LIMIT_MS }, async (round) => {
    for (const text of ['new', 'changed']) {
      await Promise.all(names.map((name) => writeFile(join(directory, name), `${text} ${round}`)));
      await changesAre(...names);
    }
    await Promise.all(names.map((name) => rm(join(directory, name))));
    await changesAre(...names);
    files += 3 * names.length;
  });
  record('changes in bursts, each reported', files, started);
});

it('reports files of a directory that is just being made', async () => {
  const { directory, changesAre } = await watchedTree();
  await repeat('files in directories just made', { soak: 30, quick: 3, limitMs: LIMIT_MS }, async (round) => {
    const names = ['a', 'b/c', 'b/d/e'].map((name) => `src/new${round}/${name}`);
    for (const name of names) await put(directory, name, 'new');
    await changesAre(...names);
    for (const name of names) await put(directory, name, 'changed');
    await changesAre(...names);
  });
});

it('reports each atomic save, also those in quick succession', async () => {
  const { directory, changesAre } = await watchedTree({ 'src/a': 'before' });
  const save = async (text: string): Promise<void> => {
    await put(directory, 'other/a.tmp', text);
    await rename(join(directory, 'other/a.tmp'), join(directory, 'src/a'));
  };
  await repeat('atomic saves', { soak: 200, quick: 5, limitMs: LIMIT_MS }, async (round) => {
    for (let quick = 0; quick < round % 4; quick++) await save(`${round}.${quick}`);
    await save(`${round}`);
    await changesAre('src/a');
  });
});

it('follows directories that are renamed, replaced and moved in', async () => {
  const { directory, changesAre } = await watchedTree({ 'src/here/a': '1', 'src/here/b/c': '1' });
  const at = (name: string): string => join(directory, name);
  const in_ = (name: string): string[] => [`src/${name}/a`, `src/${name}/b/c`];
  await repeat('renamed directories', { soak: 30, quick: 2, limitMs: LIMIT_MS }, async (round) => {
    await rename(at('src/here'), at('src/there'));
    await changesAre(...in_('here'), ...in_('there'));
    await put(directory, 'src/there/b/c', `there ${round}`);
    await changesAre('src/there/b/c');
    await mkdir(at('outside/b'), { recursive: true });
    for (const name of ['a', 'b/c']) await put(directory, `outside/${name}`, `outside ${round}`);
    await rename(at('outside'), at('src/here'));
    await changesAre(...in_('here'));
    await rm(at('src/there'), { recursive: true });
    await changesAre(...in_('there'));
    await put(directory, 'src/here/a', `here ${round}`);
    await changesAre('src/here/a');
  });
});
