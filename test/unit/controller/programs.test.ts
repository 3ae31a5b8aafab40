import { execFileSync } from 'node:child_process';
import { readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GO } from '../../../src/checkout/go/go.ts';
import { buildProgram, prepareFirst } from '../../../src/controller/build.ts';
import { removeProgram } from '../../../src/controller/programs.ts';
import { directoryWith } from './support/places.ts';

const NEVER = new AbortController().signal;

/** Like the go tool, it does not write a program that is up to date. */
const BUILD = ['sh', '-c', '[ -e "$2" ] || echo program > "$2"', 'sh', '-o'];

async function buildIn(cache: string): Promise<void> {
  const state = await directoryWith();
  const binary = join(state, 'controller');
  const [stateFile, keptProgram] = [join(state, 'controller.json'), join(cache, 'kept')];
  const plan = {
    cwd: state,
    build: [...BUILD, binary],
    output: BUILD.length,
    fromMs: undefined,
    run: [binary],
    keptProgram,
    stateFile,
  };
  await prepareFirst(plan);
  const built = await buildProgram(plan, 0, { signal: NEVER, onErrors: () => {} });
  if (!built.ok) throw new Error(built.output);
  await removeProgram({ ...built.program, build: '', fromMs: undefined });
}

test('all sessions together keep one program, also when it was up to date', async () => {
  const cache = await directoryWith();
  const inodes = new Set<number>();
  for (let session = 0; session < 3; session++) {
    await buildIn(cache);
    expect(await readdir(cache)).toEqual(['kept']);
    inodes.add((await stat(join(cache, 'kept'))).ino);
  }
  // It was built once.
  expect(inodes.size).toBe(1);
});

test('a program is started under the name that is wanted, and nothing of it is left', async () => {
  const state = await directoryWith();
  const binary = join(state, 'controller');
  const script = 'printf "#!/bin/sh\\nbasename \\$0\\n" > "$2" && chmod +x "$2"';
  const plan = {
    ...{ cwd: state, build: ['sh', '-c', script, 'sh', '-o', binary], output: 5, run: [binary, 'serve'] },
    ...{ runAs: 'shop-webhook', stateFile: join(state, 'controller.json') },
  };
  const built = await buildProgram(plan, 0, { signal: NEVER, onErrors: () => {} });
  if (!built.ok) throw new Error(built.output);
  const { run } = built.program;
  expect(run.slice(1)).toEqual(['serve']);
  expect(execFileSync(run[0]!, { encoding: 'utf8' })).toBe('shop-webhook\n');
  await removeProgram({ ...built.program, build: '', fromMs: undefined });
  expect(await readdir(state)).toEqual([]);
});

test('programs of checkouts that were not built for a month are removed', async () => {
  const cache = await directoryWith();
  for (const [name, days] of [
    ['old', 31],
    ['recent', 29],
  ] as const) {
    const file = join(cache, name);
    await writeFile(file, '');
    const then = Date.now() / 1000 - days * 24 * 3600;
    await utimes(file, then, then);
  }
  await buildIn(cache);
  expect((await readdir(cache)).sort()).toEqual(['kept', 'recent']);
});

test('programs of checkouts that are gone are removed, with what is noted of them', async () => {
  const cache = await directoryWith();
  const checkout = await directoryWith();
  for (const [name, cwd] of [
    ['here', checkout],
    ['gone', join(checkout, 'gone')],
  ] as const) {
    for (const file of [name, `${name}.4711.begun`]) await writeFile(join(cache, file), '');
    await writeFile(join(cache, `${name}.json`), JSON.stringify({ cwd, command: [], output: 0 }));
  }
  for (const file of ['unknown', 'broken', 'broken.json']) await writeFile(join(cache, file), '{');
  await buildIn(cache);
  expect((await readdir(cache)).sort()).toEqual([
    ...['broken', 'broken.json', 'here', 'here.4711.begun', 'here.json', 'kept', 'unknown'],
  ]);
});

test('a program of the PATH that has the name of a directory of the checkout is built and started', async () => {
  const cwd = await directoryWith({ 'go/go.mod': 'module example.com/m\n' });
  const run = ['go', 'run', './go'];
  const plan = { cwd, build: ['true'], run, tool: GO.tool, stateFile: join(cwd, 'state.json') };
  const built = await buildProgram(plan, 0, { signal: NEVER, onErrors: () => {} });
  expect(built).toMatchObject({ ok: true, program: { run: plan.run, content: undefined } });
});
