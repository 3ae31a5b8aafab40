import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { beginBuild } from '../../../src/controller/begun-build.ts';
import {
  type BuildOutcome,
  type BuildPlan,
  buildProgram,
  prepareFirst,
} from '../../../src/controller/build.ts';
import { listSources } from '../../../src/controller/go/sources.ts';
import { noteSources } from '../../../src/controller/kept-note.ts';
import { eventually } from '../../support/eventually.ts';
import { directoryWith, greeting, operatorModule, put } from './support/places.ts';

const NEVER = new AbortController().signal;

/** A go tool that records each build, waits while there is a file `wait`, and fails while there is a file `broken`. */
const GO = `#!/bin/sh
echo "$@" >> calls
echo "$GOGC" > garbage
if [ -n "$GOTMPDIR" ]; then mkdir "$GOTMPDIR/go-build1"; touch begun; fi
while [ -e wait ]; do sleep 0.02; done
if [ -e broken ]; then echo "undefined: x" >&2; exit 1; fi
for word; do [ "$last" = -o ] && echo program > "$word"; last=$word; done
`;

/** A checkout with a go tool of its own. */
async function place(): Promise<{ checkout: string; cache: string; kept: string }> {
  const [tools, checkout, cache] = [await directoryWith(), await directoryWith(), await directoryWith()];
  await writeFile(join(tools, 'go'), GO);
  await chmod(join(tools, 'go'), 0o755);
  process.env.PATH = `${tools}:${process.env.PATH}`;
  return { checkout, cache, kept: join(cache, 'kept') };
}

interface Session {
  checkout: string;
  kept: string;
  flags?: string[];
  signal?: AbortSignal;
  /** What happens when devloop knows what to build. */
  then?: () => Promise<unknown>;
}

/** Builds as `up` does: it begins at once, and learns later what to build. */
async function session({ checkout, kept, flags = [], signal = NEVER, then }: Session): Promise<BuildOutcome> {
  await using begun = await beginBuild(kept);
  const state = await directoryWith();
  const binary = join(state, 'controller');
  await then?.();
  const plan: BuildPlan = {
    cwd: checkout,
    build: ['go', 'build', ...flags, '-o', binary, './cmd'],
    run: [binary],
    keptProgram: kept,
    stateFile: join(state, 'controller.json'),
    begun,
  };
  await prepareFirst(plan);
  return await buildProgram(plan, 0, { signal, onErrors: () => {} });
}

async function calls(checkout: string): Promise<number> {
  const text = await readFile(join(checkout, 'calls'), 'utf8').catch(() => '');
  return text.split('\n').length - 1;
}

test('what the go tool leaves in its work directory when it is interrupted is removed', async () => {
  const { checkout, cache, kept } = await place();
  await session({ checkout, kept });
  const before = await readdir(cache);
  await writeFile(join(checkout, 'wait'), '');
  {
    await using begun = await beginBuild(kept);
    expect(begun).toBeDefined();
    await eventually(async () => expect(await readdir(checkout)).toContain('begun'));
    expect(await readdir(cache)).not.toEqual(before);
  }
  expect(await readdir(cache)).toEqual(before);
});

test('the build of the last session is begun at once, and is the first build of the next one', async () => {
  const { checkout, cache, kept } = await place();
  expect(await session({ checkout, kept })).toMatchObject({ ok: true });
  expect(await calls(checkout)).toBe(1);
  let known = 0;
  const then = async (): Promise<void> => {
    await eventually(async () => expect(await calls(checkout)).toBe(2));
    known = Date.now();
  };
  const built = await session({ checkout, kept, then });
  expect(built).toMatchObject({ ok: true });
  expect(await calls(checkout)).toBe(2);
  if (!built.ok) return;
  // What was saved since then has to be built again.
  expect(built.fromMs).toBeLessThanOrEqual(known);
  expect(await readFile(built.program.file!, 'utf8')).toBe('program\n');
  expect((await readdir(cache)).sort()).toEqual(['kept', 'kept.json']);
});

test.each([
  ['less often', undefined, '200'],
  ['as often as the user says', '50', '50'],
])('the go tool collects its garbage %s', async (_, own, used) => {
  const { checkout, kept } = await place();
  if (own !== undefined) process.env.GOGC = own;
  try {
    await session({ checkout, kept });
    expect(await readFile(join(checkout, 'garbage'), 'utf8')).toBe(`${used}\n`);
    await session({ checkout, kept });
    expect(await readFile(join(checkout, 'garbage'), 'utf8')).toBe(`${used}\n`);
  } finally {
    delete process.env.GOGC;
  }
});

test('another build is run beside the one that was begun, which ends and leaves nothing', async () => {
  const { checkout, cache, kept } = await place();
  await session({ checkout, kept });
  await writeFile(join(checkout, 'wait'), '');
  const then = async (): Promise<void> => {
    await eventually(async () => expect(await calls(checkout)).toBe(2));
    await writeFile(join(checkout, 'calls'), '');
    setTimeout(() => void import('node:fs/promises').then(({ rm }) => rm(join(checkout, 'wait'))), 50);
  };
  expect(await session({ checkout, kept, flags: ['-race'], then })).toMatchObject({ ok: true });
  expect(await readFile(join(checkout, 'calls'), 'utf8')).toMatch(/^build -v -race .*\n$/);
  expect((await readdir(cache)).sort()).toEqual(['kept', 'kept.json']);
});

test('one that fails is run again, since the sources may have changed', async () => {
  const { checkout, kept } = await place();
  await session({ checkout, kept });
  await writeFile(join(checkout, 'broken'), '');
  const failed = await session({ checkout, kept });
  expect(failed).toMatchObject({ ok: false, output: 'undefined: x' });
  expect(await calls(checkout)).toBe(3);
});

test('an interruption ends it', async () => {
  const { checkout, cache, kept } = await place();
  await session({ checkout, kept });
  await writeFile(join(checkout, 'wait'), '');
  const interrupted = new AbortController();
  const then = async (): Promise<void> => {
    await eventually(async () => expect(await calls(checkout)).toBe(2));
    setTimeout(() => interrupted.abort(new Error('Ctrl-C')), 20);
  };
  await expect(session({ checkout, kept, signal: interrupted.signal, then })).rejects.toThrow('Ctrl-C');
  expect((await readdir(cache)).sort()).toEqual(['kept', 'kept.json']);
});

test('nothing is begun where nothing was built, where the note is garbled, or names another tool', async () => {
  const { kept } = await place();
  expect(await beginBuild(kept)).toBeUndefined();
  for (const note of [
    '{',
    '[]',
    '{"command":["sh","build"],"cwd":"/","output":1}',
    '{"command":"go build"}',
    '{"command":["go","build"],"cwd":"/","output":5}',
  ]) {
    await writeFile(`${kept}.json`, note);
    expect(await beginBuild(kept), note).toBeUndefined();
  }
});

test('a note that others can write is not believed', async () => {
  const { checkout, cache, kept } = await place();
  await session({ checkout, kept });
  await chmod(cache, 0o777);
  expect(await beginBuild(kept)).toBeUndefined();
});

/** The go tool of this machine, as `up` uses it. What is recorded during the session is written at its end. */
async function realSession(checkout: string, kept: string): Promise<Extract<BuildOutcome, { ok: true }>> {
  await pause(30);
  const built = await session({ checkout, kept, flags: ['-buildvcs=false'] });
  if (!built.ok) throw new Error(built.output);
  const sources = await listSources(checkout, { goPackage: './cmd' }, NEVER);
  await noteSources(kept, { file: built.program.file!, fromMs: built.fromMs }, sources!);
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
    await using begun = await beginBuild(kept);
    expect(begun!.goFlags).toBe('-modcacherw');
    process.env.GOFLAGS = '-v';
    await using other = await beginBuild(kept);
    expect(other!.goFlags).toBeUndefined();
  } finally {
    delete process.env.GOFLAGS;
  }
});

test('the packages of a program that has not changed are known, for its own build alone', async () => {
  const checkout = await operatorModule();
  const kept = join(await directoryWith(), 'kept');
  await realSession(checkout, kept);
  await using begun = await beginBuild(kept);
  const command = ['go', 'build', '-buildvcs=false', '-o', 'anywhere', './cmd'];
  const packages = begun!.packagesOf({ cwd: checkout, command, output: 4 });
  expect(packages?.get('example.com/operator/internal/greeting')).toBe(join(checkout, 'internal/greeting'));
  expect(packages?.get('runtime')).toMatch(/src.runtime$/);
  expect(
    begun!.packagesOf({ cwd: checkout, command: command.with(5, './other'), output: 4 }),
  ).toBeUndefined();
  expect(begun!.packagesOf({ cwd: '/', command, output: 4 })).toBeUndefined();
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
