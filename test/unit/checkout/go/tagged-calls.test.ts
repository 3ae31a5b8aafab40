import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { GO } from '../../../../src/checkout/go/go.ts';
import { prepareGo } from '../../../../src/checkout/go/kept-note.ts';
import { goProgram } from '../../../../src/checkout/go/program.ts';
import type { FoundProgram, Prepared } from '../../../../src/checkout/language.ts';
import { type BuildOutcome, buildProgram, prepareFirst } from '../../../../src/controller/build.ts';
import { runTool } from '../../../../src/machine/tool.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { type CallsServer, callsServer } from '../../../support/calls-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { setForTest } from '../../../support/go-proxy.ts';
import { SAMPLE } from '../../../support/sample-operator.ts';
import { directoryWith, fixture, put } from '../../controller/support/places.ts';

const NEVER = new AbortController().signal;
/** Compiles a controller-runtime and a client-go of its own. */
const LIMIT_MS = 1_200_000;

const OLD = 'MetricsBindAddress: "0"';
const NEW = 'Metrics: server.Options{BindAddress: "0"}';

async function checkoutWith(version: string): Promise<string> {
  const isNew = version === "the sample's";
  const server = isNew ? '\n\t"sigs.k8s.io/controller-runtime/pkg/metrics/server"' : '';
  const checkout = await directoryWith({
    'main.go': await readFile(fixture('calls/main.go.txt'), 'utf8'),
    'options.go': `package main\n\nimport (\n\tctrl "sigs.k8s.io/controller-runtime"${server}\n)\n\nvar options = ctrl.Options{${isNew ? NEW : OLD}}\n`,
  });
  if (isNew) {
    // As the end-to-end tests build it: with another value, Go compiles every package anew.
    setForTest('CGO_ENABLED', '0');
    for (const name of ['go.mod', 'go.sum']) await cp(join(SAMPLE, name), join(checkout, name));
    return checkout;
  }
  const required = `require sigs.k8s.io/controller-runtime ${version}`;
  await put(checkout, 'go.mod', `module example.com/operator\n\ngo 1.24\n\n${required}\n`);
  const { code, output } = await runTool(['go', 'mod', 'tidy'], { cwd: checkout });
  expect(code, output).toBe(0);
  return checkout;
}

interface Built {
  found: FoundProgram;
  prepared: Prepared;
  outcome: BuildOutcome;
  events: DevloopEvent[];
}

/** The first build of an `up`. */
async function firstBuild(checkout: string, kept: string): Promise<Built> {
  const directory = await directoryWith();
  const prepared = await prepareGo(checkout, kept, {});
  const found = await goProgram(new Checkout(checkout), {
    directory,
    prepared,
    callTags: kept,
    isBuilt: true,
  });
  const events: DevloopEvent[] = [];
  const plan = {
    ...{ cwd: found.cwd, build: found.build, output: found.output, run: found.run, tool: GO.tool },
    ...{ keptProgram: kept, stateFile: join(directory, 'controller.json'), upToDate: prepared.upToDate },
  };
  await prepareFirst(plan);
  const io = { signal: NEVER, emit: (event: DevloopEvent) => void events.push(event), onErrors: () => {} };
  const outcome = await buildProgram(plan, 0, io);
  if (!outcome.ok) throw new Error(outcome.output);
  const sources = outcome.unchanged ?? (await found.watch!(NEVER));
  await sources.note(kept, { file: outcome.program.file!, fromMs: outcome.fromMs });
  return { found, prepared, outcome, events };
}

/** Starts the program; resolves to its standard error and exit code. */
function start({ outcome }: Built, env: object): { ended: Promise<[string, number | null]>; stop(): void } {
  if (!outcome.ok) throw new Error(outcome.output);
  const child = spawn(outcome.program.file!, { env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const ended = once(child, 'close').then(([code]): [string, number | null] => [text, code]);
  return { ended, stop: () => void child.kill() };
}

const writesOf = ({ calls }: CallsServer, name: string) =>
  calls.filter(({ method, path }) => method !== 'GET' && new RegExp(`/${name}\\b(?!-of)`).test(path));

test.each(["the sample's", 'v0.14.7', 'v0.13.2'])(
  'each call of a reconcile names it, with controller-runtime %s',
  async (version) => {
    const checkout = await checkoutWith(version);
    const kept = join(await directoryWith(), 'kept');
    const built = await firstBuild(checkout, kept);
    expect(built.events).toEqual([]);
    const names = ['web', 'fails', 'later', ...Array.from({ length: 20 }, (_, index) => `pod${index}`)];
    const server = await callsServer(names);
    const running = start(built, server.env);
    const ends = () => server.lines.filter((line) => 'end' in line);
    await eventually(async () => expect(ends().length).toBeGreaterThanOrEqual(names.length));
    running.stop();
    const [text] = await running.ended;

    const hasKind = version !== 'v0.13.2';
    for (const name of names) {
      const begin = server.lines.find((line) => 'begin' in line && line.name === name)!;
      const id = begin.begin as string;
      const kind = hasKind ? { kind: 'Pod' } : {};
      expect(begin).toEqual({
        begin: id,
        at: expect.any(Number),
        controller: 'pod',
        ...kind,
        namespace: 'shop',
        name,
      });
      expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      const tags = {
        ...{ 'devloop-reconcile': id, 'devloop-controller': 'pod', 'devloop-object': `shop/${name}` },
        ...(hasKind && { 'devloop-kind': '/Pod' }),
      };
      const own = server.calls.filter((call) => call.tags['devloop-reconcile'] === id);
      expect(own.map(({ tags }) => tags)).toEqual(own.map(() => tags));
      expect(own.map(({ method, path }) => `${method} ${path}`)).toEqual([
        `PATCH /api/v1/namespaces/shop/pods/${name}`,
        'POST /api/v1/namespaces/shop/secrets',
        'POST /api/v1/namespaces/shop/secrets',
        `PATCH /api/v1/namespaces/shop/pods/${name}/status`,
      ]);
      // Its log lines have the same ID.
      if (hasKind) expect(text).toContain(`"reconcileID":"${id}"`);
    }
    const resultOf = (name: string) => {
      const { begin } = server.lines.find((line) => 'begin' in line && line.name === name)!;
      return server.lines.find((line) => line.end === begin);
    };
    expect(resultOf('web')).toEqual({ end: expect.any(String), at: expect.any(Number), result: 'success' });
    expect(resultOf('fails')).toMatchObject({ result: 'error', error: 'it fails' });
    expect(resultOf('later')).toMatchObject({ result: 'requeue_after', requeueAfterMs: 3_600_000 });
    // The list and the watch of the cache, and the writes without the context of a reconcile.
    const untagged = server.calls.filter(({ tags }) => Object.keys(tags).length === 0);
    expect(untagged.some(({ isWatch }) => isWatch)).toBe(true);
    expect(untagged.filter(({ method }) => method === 'POST').length).toBeGreaterThanOrEqual(names.length);
    expect(writesOf(server, 'web').every(({ tags }) => 'devloop-reconcile' in tags)).toBe(true);

    // What was written before the program ended is not lost.
    const last = await callsServer(['ends']);
    const [, code] = await start(built, last.env).ended;
    expect(code).toBe(7);
    await eventually(async () => expect(last.lines).toMatchObject([{ name: 'ends' }]));
    const panicking = await callsServer(['panics']);
    const panicked = start(built, panicking.env);
    await eventually(async () => expect(panicking.lines[1]).toMatchObject({ result: 'panic' }));
    panicked.stop();
    await panicked.ended;
    // Without the variable, it is a program like any other.
    const plain = await callsServer(['web']);
    const untouched = start(built, { ...plain.env, DEVLOOP_CALLS: '' });
    await eventually(async () => expect(writesOf(plain, 'web')).toHaveLength(2));
    untouched.stop();
    await untouched.ended;
    expect(plain.calls.every(({ tags }) => Object.keys(tags).length === 0)).toBe(true);
    expect(plain.lines).toEqual([]);

    // The next session runs no go tool.
    const again = await firstBuild(checkout, kept);
    expect(again.found.build!.slice(0, -3)).toEqual(built.found.build!.slice(0, -3));
    expect(again.outcome).toMatchObject({ ok: true, unchanged: {} });
  },
  LIMIT_MS,
);
