import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GO } from '../../../../src/checkout/go/go.ts';
import { isReconcileOverlay, reconcileOverlay, takeOut } from '../../../../src/checkout/go/overlay.ts';
import { buildProgram } from '../../../../src/controller/build.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { directoryWith, operatorModule, put } from '../../controller/support/places.ts';

const NEVER = new AbortController().signal;
const RUNTIME = 'sigs.k8s.io/controller-runtime';

async function added(goMod: string, userFlags = '', files: Record<string, string> = {}): Promise<string[]> {
  const directory = await directoryWith({ 'go.mod': goMod, ...files });
  const base = join(await directoryWith(), 'kept');
  const flag = await reconcileOverlay({ directory, package: './cmd', userFlags }, base, true);
  if (flag === undefined) return [];
  const { Replace } = JSON.parse(await readFile(flag.slice('-overlay='.length), 'utf8'));
  for (const file of Object.values<string>(Replace))
    expect(await readFile(file, 'utf8')).toMatch(/^package main$/m);
  return Object.keys(Replace);
}

test.each([
  [`require ${RUNTIME} v0.24.1`, ['cmd/zz_devloop.go', 'cmd/zz_devloop_ids.go']],
  [
    `require (\n\tk8s.io/api v0.26.0\n\t${RUNTIME} v0.14.0 // indirect\n)`,
    ['cmd/zz_devloop.go', 'cmd/zz_devloop_ids.go'],
  ],
  [
    `require ${RUNTIME} v0.19.1-0.20240801000000-0123456789ab`,
    ['cmd/zz_devloop.go', 'cmd/zz_devloop_ids.go'],
  ],
  [`require ${RUNTIME} v0.13.1`, ['cmd/zz_devloop.go']],
  [`require ${RUNTIME} v0.24.1\nreplace ${RUNTIME} => ${RUNTIME} v0.13.1`, ['cmd/zz_devloop.go']],
  [
    `require ${RUNTIME} v0.13.1\nreplace ${RUNTIME} => ../fork`,
    ['cmd/zz_devloop.go', 'cmd/zz_devloop_ids.go'],
  ],
  [`require ${RUNTIME} v0.6.5`, []],
  ['require k8s.io/client-go v0.36.0', []],
])('what is added fits the controller-runtime: %s', async (goMod, files) => {
  expect(await added(goMod)).toEqual(files);
});

test("nothing is added in place of a file, or of the user's own overlay", async () => {
  const goMod = `require ${RUNTIME} v0.24.1`;
  expect(await added(goMod, '-overlay=mine.json')).toEqual([]);
  expect(await added(goMod, '', { 'cmd/zz_devloop.go': 'package main\n' })).toEqual([]);
});

test('another go.mod gives another flag, and nothing is written for a dry run', async () => {
  const directory = await directoryWith({ 'go.mod': `require ${RUNTIME} v0.24.1\n` });
  const base = join(await directoryWith(), 'kept');
  const flagNow = () => reconcileOverlay({ directory, package: './cmd', userFlags: '' }, base, false);
  const flag = (await flagNow())!;
  expect(isReconcileOverlay(flag)).toBe(true);
  await expect(readFile(flag.slice('-overlay='.length))).rejects.toThrow();
  expect(await flagNow()).toBe(flag);
  await writeFile(join(directory, 'go.mod'), `require ${RUNTIME} v0.24.0\n`);
  expect(await flagNow()).not.toBe(flag);
});

/** An operator whose controller-runtime has nothing in it. */
async function foreignCheckout(): Promise<string> {
  const directory = await operatorModule();
  await put(directory, 'fork/go.mod', `module ${RUNTIME}\n`);
  await put(directory, 'fork/nothing.go', 'package controllerruntime\n');
  const replaced = `require ${RUNTIME} v0.24.1\nreplace ${RUNTIME} => ./fork\n`;
  await writeFile(join(directory, 'go.mod'), `module example.com/operator\n\ngo 1.24\n\n${replaced}`);
  return directory;
}

test('a program with which it does not compile is built without it, and later builds do not try again', async () => {
  const directory = await foreignCheckout();
  const base = join(await directoryWith(), 'kept');
  const flagNow = () => reconcileOverlay({ directory, package: './cmd', userFlags: '' }, base, true);
  const codes: string[] = [];
  const emit = (event: DevloopEvent) => void ('code' in event && codes.push(`${event.code}`));
  for (const build of [0, 1, 2]) {
    const state = await directoryWith();
    const binary = join(state, 'controller');
    const command = ['go', 'build', '-buildvcs=false', (await flagNow())!, '-o', binary, './cmd'];
    const plan = { cwd: directory, build: command, run: [binary], tool: GO.tool };
    const io = { signal: NEVER, emit, onErrors: () => {} };
    const built = await buildProgram({ ...plan, stateFile: join(state, 'controller.json') }, build, io);
    expect(built).toMatchObject({ ok: true });
    expect(codes).toEqual(['build.calls-untagged']);
  }
  expect(await readFile((await flagNow())!.slice('-overlay='.length), 'utf8')).toBe('{"Replace":{}}');
});

test('an error of the program itself, or of a build without it, takes nothing out', async () => {
  const directory = await directoryWith({ 'go.mod': `require ${RUNTIME} v0.24.1\n` });
  const base = join(await directoryWith(), 'kept');
  const flag = (await reconcileOverlay({ directory, package: './cmd', userFlags: '' }, base, true))!;
  const written = await readFile(flag.slice('-overlay='.length), 'utf8');
  expect(await takeOut(['go', 'build', flag, './cmd'], 'cmd/main.go:3:1: undefined: x')).toBeUndefined();
  expect(await takeOut(['go', 'build', './cmd'], 'cmd/zz_devloop.go:3:1: undefined: x')).toBeUndefined();
  const users = '-overlay=/home/ann/mine.json';
  expect(await takeOut(['go', 'build', users, './cmd'], 'cmd/zz_devloop.go:3:1: x')).toBeUndefined();
  expect(await readFile(flag.slice('-overlay='.length), 'utf8')).toBe(written);
  const untidy = 'go: updates to go.mod needed; to update it:\n\tgo mod tidy';
  expect(await takeOut(['go', 'build', './cmd'], untidy)).toBeUndefined();
  expect(await takeOut(['go', 'build', flag, './cmd'], '# x\ncmd/zz_devloop.go:3:1: no x\n')).toContain(
    'no x',
  );
  expect(await readFile(flag.slice('-overlay='.length), 'utf8')).not.toBe(written);
});

test('the modules that a program lacks for what is added take it out, for a program that links only a part of controller-runtime', async () => {
  const directory = await directoryWith({ 'go.mod': `require ${RUNTIME} v0.24.1\n` });
  const base = join(await directoryWith(), 'kept');
  const flag = (await reconcileOverlay({ directory, package: './cmd', userFlags: '' }, base, true))!;
  const output = 'go: updates to go.mod needed; to update it:\n\tgo mod tidy';
  expect(await takeOut(['go', 'build', flag, './cmd'], output)).toContain('updates to go.mod needed');
  expect(await takeOut(['go', 'build', flag, './cmd'], output)).toBeUndefined();
});
