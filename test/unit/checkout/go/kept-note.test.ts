import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GO } from '../../../../src/checkout/go/go.ts';
import { readUpToDate, sourcesOf } from '../../../../src/checkout/go/kept-note.ts';
import {
  type BuildOutcome,
  type BuildPlan,
  buildProgram,
  prepareFirst,
} from '../../../../src/controller/build.ts';
import { directoryWith, greeting, operatorModule, put } from '../../controller/support/places.ts';

const NEVER = new AbortController().signal;

/** Builds as the first build of an `up`. */
async function session(checkout: string, kept: string): Promise<BuildOutcome> {
  const upToDate = await readUpToDate(kept);
  const state = await directoryWith();
  const binary = join(state, 'controller');
  const plan: BuildPlan = {
    cwd: checkout,
    build: ['go', 'build', '-buildvcs=false', '-o', binary, './cmd'],
    output: 4,
    run: [binary],
    keptProgram: kept,
    stateFile: join(state, 'controller.json'),
    tool: GO.tool,
    upToDate,
  };
  await prepareFirst(plan);
  return await buildProgram(plan, 0, { signal: NEVER, onErrors: () => {} });
}

test.each<[string, string, string | undefined, string | RegExp]>([
  ['collects its garbage less often', 'GOGC', undefined, '200'],
  ['collects its garbage as often as the user says', 'GOGC', '50', '50'],
  ['has a directory of the session for temporary files', 'GOTMPDIR', undefined, /\/build is there$/],
  ['has the directory of the user for temporary files', 'GOTMPDIR', '/', '/ is there'],
])('the go tool %s', async (_, variable, own, used) => {
  const tools = await directoryWith();
  const checkout = await directoryWith();
  const script = `#!/bin/sh\n[ -d "$${variable}" ] && there=' is there'\necho "$${variable}$there" > used\n`;
  await writeFile(join(tools, 'go'), script);
  await chmod(join(tools, 'go'), 0o755);
  vi.stubEnv('PATH', `${tools}:${process.env.PATH}`);
  vi.stubEnv(variable, own);
  onTestFinished(() => void vi.unstubAllEnvs());
  await session(checkout, join(await directoryWith(), 'kept'));
  expect((await readFile(join(checkout, 'used'), 'utf8')).trim()).toEqual(
    typeof used === 'string' ? used : expect.stringMatching(used),
  );
});

test('nothing is up to date where nothing was built, where the note is garbled, or names another tool', async () => {
  const checkout = await operatorModule();
  const kept = join(await directoryWith(), 'kept');
  expect(await readUpToDate(kept)).toBeUndefined();
  await realSession(checkout, kept);
  const good = JSON.parse(await readFile(`${kept}.json`, 'utf8'));
  for (const note of [
    '{',
    '[]',
    JSON.stringify({ ...good, command: ['sh', 'build'] }),
    JSON.stringify({ ...good, command: 'go build' }),
    JSON.stringify({ ...good, output: 9 }),
  ]) {
    await writeFile(`${kept}.json`, note);
    expect(await readUpToDate(kept), note).toBeUndefined();
  }
});

test('a note that others can write is not believed', async () => {
  const checkout = await operatorModule();
  const cache = await directoryWith();
  const kept = join(cache, 'kept');
  await realSession(checkout, kept);
  expect(await readUpToDate(kept)).toBeDefined();
  await chmod(cache, 0o777);
  expect(await readUpToDate(kept)).toBeUndefined();
});

/** The go tool of this machine, as `up` uses it. What is recorded during the session is written at its end. */
async function realSession(checkout: string, kept: string): Promise<Extract<BuildOutcome, { ok: true }>> {
  await pause(30);
  const built = await session(checkout, kept);
  if (!built.ok) throw new Error(built.output);
  const sources = await sourcesOf(checkout, { goPackage: './cmd' })(NEVER);
  await sources.note(kept, { file: built.program.file!, fromMs: built.fromMs });
  return built;
}

test('a checkout that has not changed needs no go tool, and one that has gets its program', async () => {
  const checkout = await operatorModule();
  const kept = join(await directoryWith(), 'kept');
  const first = await realSession(checkout, kept);
  expect(first.unchanged).toBeUndefined();
  const again = await realSession(checkout, kept);
  expect(again.unchanged?.directories).toContain(join(checkout, 'internal/greeting'));
  expect(again.program.content).toBe(first.program.content);
  await put(checkout, 'internal/greeting/greeting.go', greeting('second'));
  const edited = await realSession(checkout, kept);
  expect(edited.unchanged).toBeUndefined();
  expect(edited.program.content).not.toBe(first.program.content);
  expect((await realSession(checkout, kept)).unchanged).toBeDefined();
});

test('the GOFLAGS of a program that has not changed are known, until they change', async () => {
  const checkout = await operatorModule();
  const kept = join(await directoryWith(), 'kept');
  process.env.GOFLAGS = '-modcacherw';
  try {
    await realSession(checkout, kept);
    expect(await readUpToDate(kept)).toMatchObject({ goFlags: '-modcacherw' });
    process.env.GOFLAGS = '-v';
    expect(await readUpToDate(kept)).toBeUndefined();
  } finally {
    delete process.env.GOFLAGS;
  }
});

test('the packages of a program that has not changed are known, for its own build alone', async () => {
  const checkout = await operatorModule();
  const kept = join(await directoryWith(), 'kept');
  await realSession(checkout, kept);
  const upToDate = await readUpToDate(kept);
  const command = ['go', 'build', '-buildvcs=false', '-o', 'anywhere', './cmd'];
  expect(upToDate?.isMadeBy({ cwd: checkout, command, output: 4 })).toBe(true);
  const packages = upToDate?.packages;
  expect(packages?.get('example.com/operator/internal/greeting')).toBe(join(checkout, 'internal/greeting'));
  expect(packages?.get('runtime')).toMatch(/src.runtime$/);
  const other = command.with(5, './other');
  expect(upToDate?.isMadeBy({ cwd: checkout, command: other, output: 4 })).toBe(false);
  expect(upToDate?.isMadeBy({ cwd: '/', command, output: 4 })).toBe(false);
});

test.each([
  'null',
  '{}',
  '{"program":"STAMP"}',
  '{"program":"STAMP","sources":{"directories":1,"packages":[1]}}',
])('a note that is damaged (%s) is no reason to fail', async (from) => {
  const checkout = await operatorModule();
  const kept = join(await directoryWith(), 'kept');
  await realSession(checkout, kept);
  const note = JSON.parse(await readFile(`${kept}.json`, 'utf8'));
  const damaged = JSON.parse(from.replace('STAMP', note.from.program));
  await writeFile(`${kept}.json`, JSON.stringify({ ...note, from: damaged }));
  expect((await realSession(checkout, kept)).unchanged).toBeUndefined();
});

test('another program in the place of the kept one is not what was built from these sources', async () => {
  const checkout = await operatorModule();
  const kept = join(await directoryWith(), 'kept');
  await realSession(checkout, kept);
  // As after a power cut: it is not even a program.
  await writeFile(kept, 'something else');
  expect((await realSession(checkout, kept)).unchanged).toBeUndefined();
  await rm(kept);
  expect((await realSession(checkout, kept)).unchanged).toBeUndefined();
});

test.each(['-modfile=go.other.mod', '-overlay=overlay.json'])(
  'with GOFLAGS=%s, go is always asked: the file can be anywhere',
  async (flag) => {
    const checkout = await operatorModule();
    const elsewhere = await directoryWith({
      'overlay.json': '{}',
      'go.other.mod': await readFile(join(checkout, 'go.mod'), 'utf8'),
      'go.other.sum': '',
    });
    const kept = join(await directoryWith(), 'kept');
    process.env.GOFLAGS = flag.replace('=', `=${elsewhere}/`);
    try {
      await realSession(checkout, kept);
      expect((await realSession(checkout, kept)).unchanged).toBeUndefined();
    } finally {
      delete process.env.GOFLAGS;
    }
  },
);
