import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { goBuildCommand } from '../../../../src/checkout/go/build-command.ts';
import {
  createBuildProgress,
  packagesToCompile,
  withoutProgress,
} from '../../../../src/checkout/go/build-progress.ts';
import { GO } from '../../../../src/checkout/go/go.ts';
import { buildProgram } from '../../../../src/controller/build.ts';
import { buildOnce } from '../../../../src/controller/builder.ts';
import type { Supervised } from '../../../../src/controller/supervised.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { waitingText } from '../../../../src/report/waiting.ts';
import { partly } from '../../../support/partly.ts';
import { directoryWith, operatorModule, put } from '../../controller/support/places.ts';

const NEVER = new AbortController().signal;

test('what go build -v prints says how far it is', () => {
  const progress = createBuildProgress();
  expect(progress.now()).toBeUndefined();
  progress.read('go: downloading k8s.io/api v0.36.0\ngo: downloading k8s.io/client-go v0.36.0\n');
  expect(progress.now()).toEqual({ step: 'downloading', what: 'k8s.io/client-go v0.36.0', done: 2 });
  progress.read('internal/abi\nk8s.io/ap');
  expect(progress.now()).toEqual({ step: 'compiling', what: 'internal/abi', done: 1 });
  progress.expect(['internal/abi', 'k8s.io/api/core/v1', 'example.com/operator']);
  progress.read('i/core/v1\n# k8s.io/api/core/v1\nx.go:1:2: undefined: y\n');
  expect(progress.now()).toEqual({ step: 'compiling', what: 'k8s.io/api/core/v1', done: 2, total: 3 });
  progress.read('example.com/operator\n');
  const last = { step: 'linking', what: 'example.com/operator', done: 3, total: 3 } as const;
  expect(progress.now()).toEqual(last);
  const text = waitingText({ type: 'waiting', for: 'the build', seconds: 7, progress: last });
  expect(text).toBe('waiting for the build (7 s, linking example.com/operator)');
});

test('a real build counts the packages of the checkout, and what fails is told without them', async () => {
  const cwd = await operatorModule();
  const state = await directoryWith();
  const binary = join(state, 'controller');
  const build = goBuildCommand('./cmd', binary);
  const plan = { cwd, build, run: [binary], tool: GO.tool, stateFile: join(state, 'controller.json') };
  const expected = await packagesToCompile(build, cwd, NEVER);
  expect(expected?.length).toBeGreaterThanOrEqual(2);
  const progress = createBuildProgress();
  progress.expect(expected!);
  expect(await buildProgram(plan, 1, { signal: NEVER, onErrors: progress.read })).toMatchObject({ ok: true });
  expect(progress.now()).toMatchObject({ step: 'linking', what: 'example.com/operator/cmd' });
  await put(cwd, 'internal/greeting/greeting.go', 'package greeting\n\nconst Text = missing\n');
  const failed = await buildProgram(plan, 2, { signal: NEVER, onErrors: () => {} });
  expect(failed).toMatchObject({
    ok: false,
    output: expect.stringMatching(/^# example\.com.*\n.*undefined: missing$/),
  });
});

test('a wait for a build says how far it is', async () => {
  const cwd = await directoryWith();
  const said = join(cwd, 'said');
  const build = ['sh', '-c', `echo internal/abi >&2; until test -e ${said}; do sleep 0.1; done`];
  const waits: object[] = [];
  const emit = (event: DevloopEvent): void => {
    waits.push(event);
    writeFileSync(said, '');
  };
  const plan = { cwd, build, run: ['true'], tool: GO.tool, stateFile: join(cwd, 'controller.json') };
  const supervised = partly<Supervised>({ plan, ports: { emit, signal: NEVER } });
  await buildOnce(supervised, 0, NEVER);
  const progress = { step: 'compiling', what: 'internal/abi', done: 1 };
  expect(waits).toMatchObject([{ type: 'waiting', for: 'the build', progress }]);
});

test('lines of a compiler stay', () => {
  const said = '# example.com/shop\n./main.go:3:4: undefined: x';
  expect(withoutProgress(`internal/abi\ngo: downloading a.b/c v1\n${said}\n`)).toBe(`${said}\n`);
});

test('a build whose program or directory does not exist says which of them', async () => {
  const cwd = await directoryWith();
  const failed = async (build: string[], cwd: string): Promise<unknown> => {
    const plan = { cwd, build, run: ['x'], stateFile: join(cwd, 'state.json') };
    return await buildProgram(plan, 1, { signal: NEVER, onErrors: () => {} });
  };
  const gone = join(cwd, 'operator');
  expect(await failed(['absent'], cwd)).toMatchObject({ ok: false, output: 'absent: command not found' });
  // As after a switch to a branch without it.
  expect(await failed(['true'], gone)).toMatchObject({ ok: false, output: `${gone} does not exist` });
});
