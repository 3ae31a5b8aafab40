import { readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { goBuildCommand } from '../../../src/checkout/go/build-command.ts';
import { GO } from '../../../src/checkout/go/go.ts';
import { sourcesOf } from '../../../src/checkout/go/kept-note.ts';
import { answersTls } from '../../../src/controller/readiness.ts';
import { commandOf } from '../../../src/controller/runner.ts';
import {
  type ControllerPlan,
  createSupervisor,
  type Gate,
  type Supervisor,
} from '../../../src/controller/supervisor.ts';
import { DevloopError } from '../../../src/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { isRunning } from '../../support/is-running.ts';
import { partly } from '../../support/partly.ts';
import { type Recorder, recordEvents } from './support/events.ts';
import { directoryWith, greeting, operatorModule, program, put } from './support/places.ts';

interface Subject {
  recorder: Recorder;
  supervisor: Omit<Supervisor, 'leave' | 'build'> & {
    leave(): Promise<void>;
    build(ifItFails?: 'throw' | 'wait'): Promise<void>;
  };
  gate: string[];
  /** Why reviews are refused. */
  reasons: string[];
  /** Half of a review's time is over. */
  waitHalf(): void;
  plan: ControllerPlan;
  end: AbortController;
}

async function goSubject(
  more: Partial<ControllerPlan> = {},
): Promise<Subject & { cwd: string; port: number }> {
  const cwd = await operatorModule();
  const port = await freePort();
  const state = await directoryWith();
  const binary = join(state, 'controller');
  const build = goBuildCommand('./cmd', binary);
  const subject = supervise({
    cwd,
    build,
    output: build.indexOf(binary),
    run: [binary, String(port)],
    env: { PATH: process.env.PATH! },
    hidden: new Map(),
    rivals: [],
    asksForRestart: true,
    webhook: { host: '127.0.0.1', port },
    tool: GO.tool,
    watch: { sources: sourcesOf(cwd, { goPackage: './cmd' }) },
    graceMs: 3000,
    readyMs: 10_000,
    stateFile: join(state, 'controller.json'),
    ...more,
  });
  return { ...subject, cwd, port };
}

function supervise(plan: ControllerPlan): Subject {
  const recorder = recordEvents();
  const gate: string[] = [];
  const end = new AbortController();
  const started = createSupervisor(plan, { emit: recorder.emit, signal: end.signal });
  onTestFinished(() => started[Symbol.asyncDispose]());
  const reasons: string[] = [];
  let halfWaited = (): void => {};
  const recording: Gate = {
    hold(onHalfWaited) {
      gate.push('hold');
      halfWaited = onHalfWaited;
    },
    release: () => void gate.push('release'),
    controllerDown(why) {
      gate.push('down');
      reasons.push(why);
    },
    failFast(why) {
      gate.push('fail-fast');
      reasons.push(why);
    },
  };
  const supervisor = {
    ...started,
    build: (ifItFails: 'throw' | 'wait' = 'throw') => started.build(ifItFails),
    follow: () => started.follow(recording),
    leave: () => started.leave(recording),
  };
  return { recorder, supervisor, gate, reasons, waitHalf: () => halfWaited(), plan, end };
}

/** A program that another one has replaced is removed a moment later. */
async function expectOneProgram({ stateFile }: ControllerPlan): Promise<void> {
  await eventually(async () => {
    const left = await readdir(join(stateFile, '..'));
    expect(left.filter((name) => name.startsWith('controller-'))).toHaveLength(1);
  });
}

async function nodePlan(run: string[], more: Partial<ControllerPlan> = {}): Promise<ControllerPlan> {
  const cwd = await directoryWith();
  const stateFile = join(cwd, 'state', 'controller.json');
  const base = {
    build: undefined,
    env: {},
    hidden: new Map(),
    rivals: [],
    asksForRestart: true,
    webhook: undefined,
    watch: undefined,
    graceMs: 1000,
    readyMs: 5000,
  };
  return { ...base, cwd, run, stateFile, ...more };
}

test('builds, serves, replaces at each change, keeps the old one when a build fails, and leaves nothing', {
  timeout: 60_000,
}, async () => {
  const { cwd, port, recorder, supervisor, gate, end, plan } = await goSubject();
  await supervisor.build();
  await supervisor.start();
  expect(gate).toEqual([]);
  const first = recorder.all('controller.ready')[0]!.pid;
  const following = supervisor.follow();
  const source = join(cwd, 'internal/greeting/greeting.go');

  // It was saved before anything was watched, and is found by its modification time.
  await writeFile(source, greeting('second'));
  const replaced = await recorder.waitFor('controller.replaced');
  expect(replaced.pid).not.toBe(first);
  expect(gate).toEqual(['hold', 'release']);
  expect(await isRunning(first)).toBe(false);
  await recorder.waitFor('controller.output', ({ line }) => line === 'second');

  let from = recorder.events.length;
  await writeFile(source, 'package greeting\n\nconst Text = nonsense\n');
  const failed = await recorder.waitFor('build.failed', undefined, from);
  expect(failed.output).toContain('undefined: nonsense');
  expect(await answersTls({ host: '127.0.0.1', port })).toBe(true);
  expect(await isRunning(replaced.pid)).toBe(true);

  from = recorder.events.length;
  await writeFile(source, greeting('second', 'Text has another comment.'));
  await recorder.waitFor('note', ({ code }) => code === 'build.identical', from);
  expect(await isRunning(replaced.pid)).toBe(true);

  // Somebody asked for it, although nothing has changed.
  from = recorder.events.length;
  supervisor.restart();
  expect((await recorder.waitFor('controller.replaced', undefined, from)).pid).not.toBe(replaced.pid);

  // A file that is ignored causes no build of its own, but is in the next one.
  from = recorder.events.length;
  supervisor.followFiles(false);
  expect(supervisor.ignoredFiles()).toEqual([]);
  await writeFile(source, greeting('third'));
  await eventually(async () => expect(supervisor.ignoredFiles()).toEqual(['internal/greeting/greeting.go']));
  supervisor.restart();
  expect(supervisor.ignoredFiles()).toEqual([]);
  await recorder.waitFor('controller.output', ({ line }) => line === 'third', from);
  await recorder.waitFor('controller.replaced', undefined, from);
  const builds = recorder.events.slice(from).filter(({ type }) => type === 'build.started');
  expect(builds).toEqual([{ type: 'build.started', reason: [] }]);
  supervisor.followFiles(true);

  from = recorder.events.length;
  await put(cwd, 'internal/fresh/fresh.go', 'package fresh\n\nconst Text = "fresh"\n');
  await writeFile(
    source,
    'package greeting\n\nimport "example.com/operator/internal/fresh"\n\nconst Text = fresh.Text\n',
  );
  await recorder.waitFor('controller.output', ({ line }) => line === 'fresh', from);
  await recorder.waitFor('controller.replaced', undefined, from);

  // A change in the new directory counts, whether the directory is already watched or not.
  from = recorder.events.length;
  await put(cwd, 'internal/fresh/fresh.go', 'package fresh\n\nconst Text = "fresher"\n');
  await recorder.waitFor('controller.output', ({ line }) => line === 'fresher', from);
  const last = await recorder.waitFor('controller.replaced', undefined, from);

  end.abort();
  await following;
  expect(await isRunning(last.pid)).toBe(true);
  await supervisor[Symbol.asyncDispose]();
  expect(await isRunning(last.pid)).toBe(false);
  const left = await readdir(join(plan.stateFile, '..'));
  expect(left.filter((name) => name.startsWith('controller-'))).toHaveLength(1);
  expect(left).not.toContain('controller.json');
  expect(gate.filter((call) => call === 'hold')).toHaveLength(
    gate.filter((call) => call === 'release').length,
  );
});

test('what is to be generated is generated before each build, causes no build of its own, and fails the build if it fails', {
  timeout: 60_000,
}, async () => {
  const script =
    'test ! -e broken || exit 3; printf "// Code generated by sh. DO NOT EDIT.\\n\\npackage greeting\\n\\nconst Text = \\"$(cat text)\\"\\n" > internal/greeting/greeting.go';
  const generate = { command: ['sh', '-xc', script], cwd: '' };
  const { cwd, recorder, supervisor, end } = await goSubject({ generate });
  generate.cwd = cwd;
  await put(cwd, 'text', 'generated');
  await supervisor.build();
  await supervisor.start();
  await recorder.waitFor('controller.output', ({ line }) => line === 'generated');
  const following = supervisor.follow();
  const main = join(cwd, 'cmd/main.go');
  const save = async (comment: string) =>
    await writeFile(main, `// ${comment}\n${(await readFile(main, 'utf8')).replace(/^\/\/.*\n/, '')}`);
  const from = recorder.events.length;
  await put(cwd, 'text', 'again');
  await save('second');
  await recorder.waitFor('controller.output', ({ line }) => line === 'again');
  await recorder.waitFor('controller.replaced', undefined, from);
  await put(cwd, 'broken', '');
  await save('third');
  const failed = await recorder.waitFor('build.failed', undefined, from);
  expect(failed.output).toContain('+ exit 3');
  const builds = recorder.all('build.started').slice(1);
  expect(builds.map(({ reason }) => reason)).toEqual([['cmd/main.go'], ['cmd/main.go']]);
  end.abort();
  await following;
});

test('a package that is imported before it exists is picked up when it is written', {
  timeout: 60_000,
}, async () => {
  const { cwd, recorder, supervisor } = await goSubject();
  await supervisor.build();
  await supervisor.start();
  void supervisor.follow();
  await put(
    cwd,
    'internal/greeting/greeting.go',
    'package greeting\n\nimport "example.com/operator/internal/late"\n\nconst Text = late.Text\n',
  );
  await recorder.waitFor('build.failed');
  await put(cwd, 'internal/late/late.go', 'package late\n\nconst Text = "late"\n');
  await recorder.waitFor('controller.output', ({ line }) => line === 'late');
});

test('a main package that is gone for a while is followed again', { timeout: 60_000 }, async () => {
  const { cwd, recorder, supervisor } = await goSubject();
  await supervisor.build();
  await supervisor.start();
  void supervisor.follow();
  await put(cwd, 'internal/greeting/greeting.go', greeting('second'));
  await recorder.waitFor('controller.replaced');
  const main = await readFile(join(cwd, 'cmd/main.go'), 'utf8');
  await rm(join(cwd, 'cmd'), { recursive: true });
  await recorder.waitFor('build.failed');
  const from = recorder.events.length;
  await put(cwd, 'cmd/main.go', main);
  await recorder.waitFor('build.done', undefined, from);
  await put(cwd, 'internal/greeting/greeting.go', greeting('back'));
  await recorder.waitFor('controller.output', ({ line }) => line === 'back');
});

test('after many saves in a row the newest program runs', { timeout: 60_000 }, async () => {
  const { cwd, recorder, supervisor, gate } = await goSubject();
  await supervisor.build();
  await supervisor.start();
  void supervisor.follow();
  for (let index = 0; index < 12; index++) {
    const from = recorder.events.length;
    await put(cwd, 'internal/greeting/greeting.go', greeting(`number ${index}`));
    await recorder.waitFor('build.started', undefined, from);
  }
  await recorder.waitFor('controller.output', ({ line }) => line === 'number 11');
  await recorder.waitFor(
    'controller.replaced',
    ({ pid }) => pid === recorder.all('controller.started').at(-1)?.pid,
  );
  const running = await Promise.all(recorder.all('controller.started').map(({ pid }) => isRunning(pid)));
  expect(running.filter(Boolean)).toHaveLength(1);
  expect(gate.at(-1)).toBe('release');
});

test('a new program that exits at once makes way for the last one that worked, and the next change replaces that', {
  timeout: 60_000,
}, async () => {
  const { cwd, port, recorder, supervisor, gate, plan } = await goSubject();
  await supervisor.build();
  await supervisor.start();
  void supervisor.follow();
  await put(
    cwd,
    'internal/greeting/greeting.go',
    `package greeting\n\nimport "os"\n\nvar Text = "never"\n\nfunc init() { println("no luck"); os.Exit(3) }\n`,
  );
  const warning = await recorder.waitFor('warning', ({ message }) => message.includes('exited with code 3'));
  expect(warning.message).toContain('no luck');
  const { why } = await recorder.waitFor('build.reverted');
  expect(why).toContain('exited with code 3');
  let from = recorder.events.findIndex(({ type }) => type === 'build.reverted');
  await recorder.waitFor('controller.output', ({ line }) => line === 'first', from);
  await recorder.waitFor('controller.ready', undefined, from);
  await eventually(async () => expect(gate).toEqual(['hold', 'release']));
  expect(await answersTls({ host: '127.0.0.1', port })).toBe(true);
  const [first, , again] = recorder.all('controller.started').map(({ build }) => build);
  expect(again).toBe(first);
  from = recorder.events.length;
  await put(cwd, 'internal/greeting/greeting.go', greeting('fixed'));
  await recorder.waitFor('controller.replaced', undefined, from);
  await expectOneProgram(plan);
});

test('a new program that is not ready in time makes way for the last one that worked', {
  timeout: 60_000,
}, async () => {
  const { cwd, recorder, supervisor } = await goSubject({ readyMs: 2_000 });
  await supervisor.build();
  await supervisor.start();
  void supervisor.follow();
  await put(
    cwd,
    'internal/greeting/greeting.go',
    'package greeting\n\nimport "time"\n\nvar Text = "never"\n\nfunc init() { time.Sleep(time.Hour) }\n',
  );
  await recorder.waitFor('build.reverted');
  const from = recorder.events.findIndex(({ type }) => type === 'build.reverted');
  await recorder.waitFor('controller.output', ({ line }) => line === 'first', from);
  await recorder.waitFor('controller.ready', undefined, from);
  expect(recorder.all('build.reverted')).toHaveLength(1);
});

test('under a debugger, a new program that exits stays', { timeout: 60_000 }, async () => {
  const debugging = {
    wrap: (command: string[]) => command,
    attend: () => ({
      reads: () => false,
      exited: new Promise<number>(() => {}),
      isStopped: false,
      leave: async () => {},
    }),
  };
  const { cwd, recorder, supervisor, gate } = await goSubject({ debugging });
  await supervisor.build();
  await supervisor.start();
  void supervisor.follow();
  await put(
    cwd,
    'internal/greeting/greeting.go',
    'package greeting\n\nimport "os"\n\nvar Text = "never"\n\nfunc init() { os.Exit(3) }\n',
  );
  await recorder.waitFor('controller.down');
  await eventually(async () => expect(gate.slice(-3)).toEqual(['hold', 'down', 'release']));
  expect(recorder.all('build.reverted')).toEqual([]);
});

test('a first build that fails throws the output of the compiler', async () => {
  const { cwd, supervisor } = await goSubject();
  await put(cwd, 'cmd/main.go', 'package main\n\nfunc main() { nonsense() }\n');
  await expect(supervisor.build()).rejects.toMatchObject({
    code: 'controller.build-failed',
    message: expect.stringContaining('undefined: nonsense'),
  });
});

test('a first build that fails waits for the fix, and saves are followed as ever', {
  timeout: 60_000,
}, async () => {
  const { cwd, recorder, supervisor, plan } = await goSubject();
  const main = await readFile(join(cwd, 'cmd/main.go'), 'utf8');
  await put(cwd, 'cmd/main.go', 'package main\n\nfunc main() { nonsense() }\n');
  let isBuilt = false;
  const building = supervisor.build('wait').then(() => {
    isBuilt = true;
  });
  await recorder.waitFor('build.failed');
  await put(cwd, 'cmd/main.go', 'package main\n\nfunc main() { other() }\n');
  await recorder.waitFor('build.failed', ({ output }) => output.includes('undefined: other'));
  expect(isBuilt).toBe(false);
  await put(cwd, 'cmd/main.go', main);
  await building;
  const saved = expect.arrayContaining(['cmd/main.go']);
  expect(recorder.all('build.started').map(({ reason }) => reason)).toEqual([[], saved, saved]);
  await supervisor.start();
  void supervisor.follow();
  await put(cwd, 'internal/greeting/greeting.go', greeting('second'));
  await recorder.waitFor('controller.replaced');
  await expectOneProgram(plan);
});

test('Ctrl-C ends the wait for the fix, also while a build runs', { timeout: 60_000 }, async () => {
  for (const event of ['build.failed', 'build.started'] as const) {
    const { cwd, recorder, supervisor, end } = await goSubject();
    await put(cwd, 'cmd/main.go', 'package main\n\nfunc main() { nonsense() }\n');
    const building = supervisor.build('wait');
    building.catch(() => {});
    await recorder.waitFor('build.failed');
    const from = recorder.events.length;
    if (event === 'build.started') {
      // devloop watches as soon as it has read the sources, and then also finds what was saved before.
      await put(cwd, 'cmd/main.go', 'package main\n\nfunc main() { other() }\n');
      await recorder.waitFor(event, undefined, from);
    }
    end.abort('SIGINT');
    await expect(building).rejects.toBe('SIGINT');
    expect(recorder.all('controller.started')).toEqual([]);
  }
});

test('the hint of a first build that fails says how to build without the flags that devloop chose', async () => {
  const withoutChosen = "GOFLAGS='-tags=' devloop up";
  const { cwd, supervisor } = await goSubject({ withoutChosen });
  await put(cwd, 'cmd/main.go', 'package main\n\nfunc main() { nonsense() }\n');
  await expect(supervisor.build()).rejects.toMatchObject({
    code: 'controller.build-failed',
    hint: expect.stringContaining(withoutChosen),
  });
});

test('the hint for a missing module is go mod tidy', async () => {
  const { cwd, supervisor } = await goSubject();
  await put(cwd, 'cmd/main.go', 'package main\n\nimport _ "example.com/elsewhere"\n\nfunc main() {}\n');
  await expect(supervisor.build()).rejects.toMatchObject({
    code: 'controller.build-failed',
    hint: 'go mod tidy',
  });
});

test('the hint for a type without its DeepCopy methods is make generate', async () => {
  const { cwd, supervisor } = await goSubject();
  const types = 'type object interface{ DeepCopyObject() }\n\ntype shop struct{}\n';
  await put(cwd, 'cmd/main.go', `package main\n\n${types}\nvar _ object = &shop{}\n\nfunc main() {}\n`);
  await expect(supervisor.build()).rejects.toMatchObject({ hint: 'make generate' });
});

test('a first start that fails throws and leaves no process', async () => {
  const plan = await nodePlan(
    program('exits-at-once.mjs', 4, 'unable to find leader election namespace: not running in-cluster'),
  );
  const { supervisor } = supervise(plan);
  await expect(supervisor.start()).rejects.toMatchObject({
    code: 'controller.exited',
    message: expect.stringContaining('leader election'),
  });
});

test('a program that ends by itself with code 0 is run once where another one could be the manager', async () => {
  const rivals = { rivals: ['./cmd/manager'], asksForRestart: false };
  const { supervisor, recorder } = supervise(await nodePlan(program('exits-at-once.mjs', 0), rivals));
  await expect(supervisor.start()).rejects.toMatchObject({
    code: 'controller.wrong-program',
    hint: expect.stringContaining('devloop up --package ./cmd/manager'),
  });
  expect(recorder.all('controller.started')).toHaveLength(1);
});

test('a port in use fails the first start, and the error names the process that uses it', async () => {
  const { port, supervisor, recorder } = await goSubject();
  const holder = supervise(
    await nodePlan(program('listens-tls.mjs', port), { webhook: { host: '127.0.0.1', port } }),
  );
  await holder.supervisor.start();
  await expect(supervisor.start()).rejects.toMatchObject({
    code: 'port.in-use',
    message: expect.stringMatching(/process \d+ \(/),
  });
  expect(recorder.all('controller.started')).toEqual([]);
});

test('a controller that never listens is told to end at the deadline of the first start, which does not wait for that', async () => {
  const plan = await nodePlan(['/bin/sh', '-c', 'trap "" TERM; sleep 600'], {
    webhook: { host: '127.0.0.1', port: await freePort() },
    readyMs: 300,
    graceMs: 60_000,
  });
  const { supervisor, recorder, gate } = supervise(plan);
  await expect(supervisor.start()).rejects.toMatchObject({ code: 'controller.not-ready' });
  expect(recorder.all('controller.exited')).toEqual([]);
  await supervisor.leave();
  expect(gate).toEqual(['fail-fast', 'down', 'release']);
  // The cluster is restored by then, so the last grace period is short.
  await supervisor[Symbol.asyncDispose]();
  expect(recorder.all('controller.exited')).toMatchObject([{ signal: 'SIGKILL', expected: true }]);
});

test('without webhooks, the line about a new process does not say how long reviews were held', async () => {
  const plan = await nodePlan(['/bin/sh', '-c', 'exec sleep 600'], { readyMs: 100 });
  const { supervisor, recorder } = supervise(plan);
  await supervisor.start();
  void supervisor.follow();
  supervisor.restart();
  const replaced = await recorder.waitFor('controller.replaced');
  expect(replaced).not.toHaveProperty('heldMs');
  await supervisor[Symbol.asyncDispose]();
});

test('a controller that replaces another one and answers after its deadline is ready then', async () => {
  const port = await freePort();
  const plan = await nodePlan(program('listens-tls.mjs', port), {
    ...{ webhook: { host: '127.0.0.1', port }, readyMs: 4_000 },
  });
  const { supervisor, recorder } = supervise(plan);
  await supervisor.start();
  void supervisor.follow();
  const from = recorder.events.length;
  supervisor.runWith({ ...plan, run: program('listens-tls.mjs', port, 5_000) });
  supervisor.restart();
  const late = (await recorder.waitFor('controller.started', undefined, from)).pid;
  await recorder.waitFor('controller.silent', ({ pid }) => pid === late, from);
  await recorder.waitFor('warning', undefined, from);
  expect(recorder.all('controller.ready')).toHaveLength(1);
  await recorder.waitFor('controller.ready', ({ pid }) => pid === late, from);
});

test('at the end, reviews are refused with the cause of a failed start', async () => {
  const { supervisor, reasons } = supervise(await nodePlan(program('exits-at-once.mjs', 3, 'no settings')));
  await expect(supervisor.start()).rejects.toMatchObject({ code: 'controller.exited' });
  await supervisor.leave();
  expect([...new Set(reasons)]).toEqual([expect.stringContaining('code 3')]);
});

test('waiting for the controller is reported each second', async () => {
  const port = await freePort();
  const plan = await nodePlan(program('listens-tls.mjs', port, 1200), {
    webhook: { host: '127.0.0.1', port },
  });
  const { supervisor, recorder } = supervise(plan);
  await supervisor.start();
  expect(recorder.all('waiting')[0]).toMatchObject({ seconds: 1, limitSeconds: 5 });
});

test('a controller that is killed is restarted', async () => {
  const port = await freePort();
  const plan = await nodePlan(program('listens-tls.mjs', port), { webhook: { host: '127.0.0.1', port } });
  const { supervisor, recorder, gate } = supervise(plan);
  await supervisor.start();
  void supervisor.follow();
  const first = recorder.all('controller.ready')[0]!.pid;
  process.kill(first, 'SIGKILL');
  await recorder.waitFor('warning', ({ code }) => code === 'controller.failed');
  await recorder.waitFor('controller.ready', ({ pid }) => pid !== first);
  await expect.poll(() => gate).toEqual(['down', 'hold', 'release']);
});

test('an abort during the first start ends the process', async () => {
  const plan = await nodePlan(program('ends-on-sigterm.mjs'), {
    webhook: { host: '127.0.0.1', port: await freePort() },
  });
  const { supervisor, recorder, end } = supervise(plan);
  const starting = supervisor.start();
  starting.catch(() => {});
  await recorder.waitFor('controller.output', ({ line }) => line === 'running');
  end.abort(new Error('leaving'));
  await expect(starting).rejects.toThrow('leaving');
  await supervisor[Symbol.asyncDispose]();
  expect(await isRunning(recorder.all('controller.started')[0]!.pid)).toBe(false);
});

test('a program of another language is built in place and replaced', async () => {
  const cwd = await directoryWith({
    'src/program.mjs': "setInterval(() => {}, 1000);\nconsole.log('first');\n",
  });
  const plan = await nodePlan([process.execPath, 'out/program.mjs'], {
    cwd,
    build: ['sh', '-c', 'mkdir -p out && cp src/program.mjs out/'],
    watch: { paths: ['src'] },
  });
  const { supervisor, recorder, gate } = supervise(plan);
  await supervisor.build();
  await supervisor.start();
  void supervisor.follow();
  await writeFile(join(cwd, 'src/program.mjs'), "setInterval(() => {}, 1000);\nconsole.log('second');\n");
  await recorder.waitFor('controller.output', ({ line }) => line === 'second');
  await recorder.waitFor('controller.replaced');
  await expect.poll(() => gate).toEqual(['hold', 'release']);
});

test('what the own command writes again when it starts, with the same content, restarts nothing', async () => {
  const cwd = await directoryWith({ 'crd.yaml': 'a: 1\n', 'other.yaml': 'a: 1\n' });
  for (const name of ['crd.yaml', 'other.yaml']) await utimes(join(cwd, name), 1, 1);
  const script = 'cp crd.yaml same && cat same >crd.yaml && rm same && echo written && exec sleep 60';
  const plan = await nodePlan(['sh', '-c', script], { cwd, watch: { checkout: cwd } });
  const { supervisor, recorder } = supervise({
    ...plan,
    stateFile: join(await directoryWith(), 'controller.json'),
  });
  await Promise.all([supervisor.build(), supervisor.lookFirst()]);
  const started = supervisor.start();
  await recorder.waitFor('controller.output', ({ line }) => line === 'written');
  supervisor.lookAhead();
  await started;
  void supervisor.follow();
  await put(cwd, 'other.yaml', 'a: 2\n');
  const { reason } = await recorder.waitFor('controller.restarting');
  expect(reason).toEqual(['other.yaml']);
});

test('what the own build writes again, with the same content, causes no other build', async () => {
  const cwd = await directoryWith({ 'crd.yaml': 'a: 1\n', 'other.yaml': 'a: 1\n' });
  for (const name of ['crd.yaml', 'other.yaml']) await utimes(join(cwd, name), 1, 1);
  const state = await directoryWith();
  const script =
    'while ! [ -e "$0/go" ]; do sleep 0.05; done; cp crd.yaml "$0/same" && cat "$0/same" >crd.yaml';
  const plan = await nodePlan(['sleep', '60'], {
    cwd,
    watch: { checkout: cwd },
    build: ['sh', '-c', script, state],
  });
  const { supervisor, recorder } = supervise({ ...plan, stateFile: join(state, 'controller.json') });
  const built = supervisor.build();
  await supervisor.lookFirst();
  await put(state, 'go', '');
  await built;
  await supervisor.start();
  const from = recorder.events.length;
  void supervisor.follow();
  await put(cwd, 'other.yaml', 'a: 2\n');
  const { reason } = await recorder.waitFor('build.started', undefined, from);
  expect(reason).toEqual(['other.yaml']);
});

test('dispose in the middle of a build leaves neither compiler nor controller', async () => {
  const cwd = await directoryWith({ 'src/a': '1' });
  const plan = await nodePlan(program('ignores-sigterm.mjs'), {
    cwd,
    build: ['sh', '-c', 'test ! -e slow || { sleep 100 & echo $! > pid; wait; }'],
    watch: { paths: ['src'] },
    graceMs: 500,
  });
  const { supervisor, recorder } = supervise(plan);
  await supervisor.build();
  await supervisor.start();
  const following = supervisor.follow();
  await put(cwd, 'slow', '');
  await put(cwd, 'src/a', '2');
  await expect
    .poll(() => readFile(join(cwd, 'pid'), 'utf8').catch(() => ''), { timeout: 10_000 })
    .toMatch(/\d\n/);
  const compiler = Number(await readFile(join(cwd, 'pid'), 'utf8'));
  await supervisor[Symbol.asyncDispose]();
  await following;
  // A killed process closes its pipes a moment before it has ended.
  await expect.poll(() => isRunning(compiler)).toBe(false);
  expect(await isRunning(recorder.all('controller.started')[0]!.pid)).toBe(false);
});

test('at the end, reviews are sent to the last controller until it ends, and to nothing after that', async () => {
  const plan = await nodePlan(program('ignores-sigterm.mjs'), { graceMs: 100 });
  const { supervisor, gate, end } = supervise(plan);
  await supervisor.start();
  const following = supervisor.follow();
  end.abort();
  await following;
  await supervisor.leave();
  expect(gate).toEqual(['fail-fast', 'release']);
  await supervisor[Symbol.asyncDispose]();
  expect(new Set(gate)).toEqual(new Set(['fail-fast', 'release', 'down']));
});

test('a controller that takes long to end twice leads to one suggestion of a shorter grace period', async () => {
  const cwd = await directoryWith({ 'src/a': '1' });
  const plan = await nodePlan(program('ignores-sigterm.mjs'), {
    ...{ cwd, build: ['true'], watch: { paths: ['src'] }, graceMs: 1_100 },
  });
  const { supervisor, recorder, end } = supervise(plan);
  await supervisor.build();
  await supervisor.start();
  const following = supervisor.follow();
  const suggestions = () => recorder.all('note').filter(({ code }) => code === 'controller.slow-to-end');
  // It has installed its handlers by then.
  const starts = () => recorder.all('controller.output').filter(({ line }) => line === 'running').length;
  const started = (count: number): Promise<void> => expect.poll(starts, { timeout: 30_000 }).toBe(count);
  await started(1);
  for (const [index, expected] of [0, 1, 1].entries()) {
    supervisor.restart();
    await started(index + 2);
    expect(suggestions()).toHaveLength(expected);
  }
  end.abort();
  await following;
  await supervisor[Symbol.asyncDispose]();
});

test('at the end, nobody waits for a controller that takes its whole grace period', async () => {
  const { supervisor, recorder } = supervise(
    await nodePlan(program('ignores-sigterm.mjs'), { graceMs: 3_600_000 }),
  );
  await supervisor.start();
  await recorder.waitFor('controller.output', ({ line }) => line === 'running');
  await supervisor[Symbol.asyncDispose]();
  expect(recorder.all('controller.output').at(-1)).toMatchObject({ line: 'SIGTERM 1' });
  expect(recorder.all('controller.exited')).toMatchObject([{ signal: 'SIGKILL', expected: true }]);
});

test.each([
  ['that never started', async () => {}],
  ['that did not become ready', (start: () => Promise<void>) => start().catch(() => {})],
])('at the end, no review is sent to the port of a controller %s', async (_, begin) => {
  const { supervisor, gate } = supervise(await nodePlan(['false']));
  await begin(supervisor.start);
  await supervisor.leave();
  expect(gate).toEqual(['fail-fast', 'down', 'release']);
});

test('at the end, reviews wait for a replacement that has begun', async () => {
  const cwd = await directoryWith({ 'src/a': '1' });
  const plan = await nodePlan(program('ignores-sigterm.mjs'), {
    ...{ cwd, build: ['true'], watch: { paths: ['src'] }, graceMs: 800 },
  });
  const { supervisor, recorder, gate, end } = supervise(plan);
  await supervisor.start();
  void supervisor.follow();
  await put(cwd, 'src/a', '2');
  await recorder.waitFor('controller.output', ({ line }) => line === 'SIGTERM 1');
  end.abort();
  const left = supervisor.leave();
  expect(gate).toEqual(['hold', 'fail-fast']);
  await left;
  expect(gate).toEqual(['hold', 'fail-fast', 'release', 'release']);
  expect(recorder.all('controller.started')).toHaveLength(2);
});

/** A controller that answers after SIGTERM, and ends when the file `ended` exists. */
async function lingering(how: 'answers' | 'silent'): Promise<Subject & { ended: string }> {
  const cwd = await directoryWith({ 'src/a': '1' });
  const port = await freePort();
  const webhook = { host: '127.0.0.1', port };
  const ended = join(cwd, 'ended');
  const plan = await nodePlan(program('lingers-tls.mjs', port, how, ended), {
    ...{ cwd, webhook, build: ['true'], watch: { paths: ['src'] }, graceMs: 60_000 },
  });
  const subject = supervise(plan);
  await subject.supervisor.start();
  void subject.supervisor.follow();
  await put(cwd, 'src/a', '2');
  return { ...subject, ended };
}

test('reviews go to a controller that goes on answering after SIGTERM, until it ends', async () => {
  const { recorder, gate, ended } = await lingering('answers');
  await recorder.waitFor('note', ({ code }) => code === 'controller.still-answering');
  expect(recorder.all('controller.exited')).toEqual([]);
  await writeFile(ended, '');
  await recorder.waitFor('controller.replaced');
  expect(gate).toEqual(['hold', 'release', 'hold', 'release']);
  expect(recorder.all('controller.exited')).toMatchObject([{ code: 0, expected: true }]);
});

test('a controller that has given up its port, but does not end, is killed when half of the time of a review is over', async () => {
  const { recorder, gate, waitHalf, supervisor } = await lingering('silent');
  const waiting = setInterval(waitHalf, 50);
  onTestFinished(() => clearInterval(waiting));
  await recorder.waitFor('controller.replaced');
  expect(gate).toEqual(['hold', 'release']);
  expect(recorder.all('controller.exited')).toMatchObject([{ signal: 'SIGKILL', expected: true }]);
  await supervisor[Symbol.asyncDispose]();
});

test('dispose in the middle of a replacement leaves no process and releases the gate', async () => {
  const cwd = await directoryWith({ 'src/a': '1' });
  const plan = await nodePlan(program('ignores-sigterm.mjs'), {
    cwd,
    build: ['true'],
    watch: { paths: ['src'] },
    graceMs: 800,
  });
  const { supervisor, recorder, gate } = supervise(plan);
  await supervisor.build();
  await supervisor.start();
  const following = supervisor.follow();
  await put(cwd, 'src/a', '2');
  await recorder.waitFor('controller.output', ({ line }) => line === 'SIGTERM 1');
  await supervisor[Symbol.asyncDispose]();
  await following;
  expect(gate).toEqual(['hold', 'release']);
  expect(recorder.all('controller.started')).toHaveLength(1);
  expect(await isRunning(recorder.all('controller.started')[0]!.pid)).toBe(false);
});

test('a port that a process outside the group keeps is named, and the next build is not said to serve', async () => {
  const port = await freePort();
  const cwd = await directoryWith({ 'src/a': '1' });
  const webhook = { host: '127.0.0.1', port };
  const plan = await nodePlan(program('daemonizes-tls.mjs', port), {
    cwd,
    webhook,
    build: ['true'],
    watch: { paths: ['src'] },
  });
  const { supervisor, recorder, gate } = supervise(plan);
  await supervisor.start();
  const { line } = await recorder.waitFor('controller.output');
  const daemon = Number(line.split(' ')[1]);
  onTestFinished(() => void process.kill(daemon, 'SIGKILL'));
  expect(recorder.all('warning')).toMatchObject([
    {
      code: 'controller.port-of-another',
      values: { owner: expect.stringContaining(`process ${daemon} `) },
    },
  ]);
  void supervisor.follow();
  await put(cwd, 'src/a', '2');
  const named = `port ${port}, which is in use by process ${daemon} `;
  await recorder.waitFor('warning', ({ message }) => message.includes(named));
  expect(recorder.all('controller.started')).toHaveLength(1);
  expect(recorder.all('controller.replaced')).toEqual([]);
  await expect.poll(() => gate).toEqual(['hold', 'down', 'release']);
});

test('a change while the port is still in use starts the newest program once it is free', async () => {
  const port = await freePort();
  const cwd = await directoryWith({ 'src/a': '1' });
  const webhook = { host: '127.0.0.1', port };
  const run = ['sh', '-c', 'cat src/a; exec "$@"', 'sh', ...program('listens-tls.mjs', port)];
  const { supervisor, recorder } = supervise(
    await nodePlan(run, {
      cwd,
      webhook,
      env: { PATH: process.env.PATH! },
      build: ['true'],
      watch: { paths: ['src'] },
    }),
  );
  await supervisor.start();
  void supervisor.follow();
  const holder = createServer();
  const first = recorder.all('controller.ready')[0]!.pid;
  await put(cwd, 'src/a', '2');
  await recorder.waitFor('controller.exited', ({ pid }) => pid === first);
  await new Promise<void>((resolve) =>
    holder.once('error', () => resolve()).listen(port, '127.0.0.1', resolve),
  );
  const from = recorder.events.length;
  await put(cwd, 'src/a', '3\n');
  await recorder.waitFor('build.done', undefined, from);
  holder.close();
  await recorder.waitFor('controller.output', ({ line }) => line === '3');
  await recorder.waitFor(
    'controller.replaced',
    ({ pid }) => pid === recorder.all('controller.started').at(-1)?.pid,
  );
});

test('a controller that cannot be started again, because its port is in use, is down', async () => {
  const port = await freePort();
  const webhook = { host: '127.0.0.1', port };
  const { supervisor, recorder } = supervise(await nodePlan(program('listens-tls.mjs', port), { webhook }));
  await supervisor.start();
  void supervisor.follow();
  const { pid } = recorder.all('controller.ready')[0]!;
  const holder = createServer();
  onTestFinished(() => void holder.close());
  const take = (): void => void holder.listen(port, '127.0.0.1');
  holder.on('error', () => setTimeout(take, 1));
  take();
  supervisor.restart();
  await recorder.waitFor('controller.exited', (one) => one.pid === pid);
  expect(await recorder.waitFor('controller.down')).toMatchObject({
    why: expect.stringContaining(`port ${port}`),
  });
  expect(recorder.all('controller.started')).toHaveLength(1);
});

test('a program that writes into its own checkout is not restarted endlessly', async () => {
  const cwd = await directoryWith({
    'main.mjs':
      "import { writeFileSync } from 'node:fs'; writeFileSync('state.json', String(Date.now())); setInterval(() => {}, 1000);",
  });
  const plan = await nodePlan([process.execPath, 'main.mjs'], { cwd, watch: { checkout: cwd } });
  const { supervisor, recorder } = supervise(plan);
  await supervisor.start();
  void supervisor.follow();
  const delays: string[] = [];
  for (const ms of [1, 2]) {
    const from = recorder.events.length;
    const { message } = await recorder.waitFor('warning', undefined, from);
    delays.push(message);
    expect(message).toContain('state.json');
    expect(message).toContain(`in ${ms} s`);
  }
  const from = recorder.events.length;
  // A change by a person does not wait.
  await put(cwd, 'other.mjs', '1');
  const { reason } = await recorder
    .waitFor('controller.restarting', undefined, from)
    .catch(() => ({ reason: [] }));
  expect(reason).toEqual(['other.mjs']);
});

test.each([
  ['it is filled in', 'u1', 'OWN=uid=u1 --uid=u1'],
  ['a variable with it is left out where it cannot be had', undefined, 'OWN= '],
])('of a value that is known only when the controller starts, %s', async (_, uid, line) => {
  const run = ['/bin/sh', '-c', 'echo "OWN=$OWN $1"; exec sleep 60', 'sh', '--uid=<uid>'];
  const late = [{ standsFor: '<uid>', value: () => uid }];
  const env = { PATH: process.env.PATH!, OWN: 'uid=<uid>' };
  const { supervisor, recorder } = supervise(await nodePlan(run, { env, late }));
  const started = supervisor.start();
  await recorder.waitFor('controller.output', (event) => event.line === line);
  await started;
});

test('the value of a Secret is hidden also in an argument with a value that is known only when the controller starts', async () => {
  const run = ['/bin/sh', '-c', 'exec sleep 60', 'sh', '--as=hunter2@<uid>'];
  const late = [{ standsFor: '<uid>', value: () => 'u1' }];
  const hidden = new Map([['--as=hunter2@<uid>', '--as=$(TOKEN)@<uid>']]);
  const { supervisor, recorder, plan } = supervise(await nodePlan(run, { hidden, late }));
  const started = supervisor.start();
  const { command } = await recorder.waitFor('controller.started');
  expect(command.at(-1)).toBe('--as=$(TOKEN)@u1');
  expect(await readFile(plan.stateFile, 'utf8')).not.toContain('hunter2');
  await started;
});

test('a start whose own files cannot be written is reported, and the next change tries again', async () => {
  const problem = new DevloopError('files.not-written', 'devloop cannot write files: the disk is full.', {});
  let isFull = false;
  const value = (): string => {
    if (isFull) throw problem;
    return '1';
  };
  const run = ['/bin/sh', '-c', 'exec sleep 60', 'sh', '--file=/start-<number>'];
  const late = [{ standsFor: '<number>', value }];
  const { supervisor, recorder } = supervise(await nodePlan(run, { late }));
  await supervisor.start();
  const following = supervisor.follow();
  isFull = true;
  supervisor.restart();
  expect(await recorder.waitFor('controller.down')).toMatchObject({
    why: expect.stringContaining('the disk is full'),
  });
  isFull = false;
  const from = recorder.events.length;
  supervisor.restart();
  expect((await recorder.waitFor('controller.started', undefined, from)).command.at(-1)).toBe(
    '--file=/start-1',
  );
  await supervisor[Symbol.asyncDispose]();
  await following;
});

test('the file of a start takes its place in the command that waits for it', () => {
  const late = [{ standsFor: '<number>', value: () => '7' }];
  const files = [{ from: '/state/start-<number>/pod', to: '/var/run/secrets' }];
  const plan = partly<ControllerPlan>({ env: {}, late, placed: { files, scratch: '/state/under' } });
  const placed = { files: [{ from: '/state/start-7/pod', to: '/var/run/secrets' }], scratch: '/state/under' };
  expect(commandOf(plan, ['manager'])).toMatchObject({ command: ['manager'], placed });
});
