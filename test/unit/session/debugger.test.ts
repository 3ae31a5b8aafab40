import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { endOrphan, recordProcess } from '../../../src/controller/orphan.ts';
import { type ControllerProcess, startController } from '../../../src/controller/process.ts';
import { groupsOf, startTimeOf } from '../../../src/machine/system.ts';
import { openDebugger, type SessionDebugger } from '../../../src/session/start/debugger.ts';
import { cached, hashOf } from '../../cluster/cache.ts';
import { run } from '../../cluster/run.ts';
import { DapClient, delve } from '../../support/delve.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { recordEvents } from '../controller/support/events.ts';
import { directoryWith, fixture, put } from '../controller/support/places.ts';

/** A line in the handler of the program. */
const LINE = 15;

let dlv: string;
let source: string;
let program: string;

beforeAll(async () => {
  dlv = await delve();
  const text = await readFile(fixture('debugged.go.txt'), 'utf8');
  const key = await hashOf('.', [], text);
  const directory = await cached('test-debugged-program', key, async (part) => {
    await put(part, 'go.mod', 'module example.com/debugged\n\ngo 1.24\n');
    await put(part, 'main.go', text);
    await run('go', ['build', '-gcflags=-N -l', '-trimpath', '-o', 'program', '.'], { cwd: part });
  });
  source = 'example.com/debugged/main.go';
  program = join(directory, 'program');
}, 300_000);

interface Debugged {
  controller: ControllerProcess;
  url: string;
}

async function session() {
  const recorder = recordEvents();
  const port = await freePort();
  const signal = new AbortController().signal;
  const debug = await openDebugger(port, dlv, { emit: recorder.emit, signal });
  onTestFinished(() => debug[Symbol.asyncDispose]());
  const start = async (): Promise<Debugged> => {
    const served = await freePort();
    const command = debug.debugging.wrap([program, String(served)]);
    const from = recorder.events.length;
    const debugged = debug.debugging.attend();
    const controller = startController({ command, cwd: '/', env: {}, debugged }, recorder.emit);
    onTestFinished(async () => void (await controller.stop({ graceMs: 0 })));
    await recorder.waitFor('controller.output', ({ line }) => line === 'running', from);
    void debug.settled();
    return { controller, url: `http://127.0.0.1:${served}` };
  };
  return { recorder, debug, port, start };
}

async function attached(port: number): Promise<DapClient> {
  const editor = new DapClient(port);
  onTestFinished(() => editor[Symbol.dispose]());
  await editor.begin(source, [LINE]);
  return editor;
}

const get = async (url: string): Promise<string> => (await fetch(url)).text();
const isSettled = (debug: SessionDebugger): Promise<true> => debug.settled().then(() => true);

test('a controller stops at a breakpoint, and runs on when the editor goes away without a word', async () => {
  const { recorder, debug, port, start } = await session();
  const { url } = await start();
  const editor = await attached(port);
  const answer = get(`${url}/one`);
  expect(await editor.stoppedAt()).toBe(LINE);
  expect(await recorder.waitFor('debug.stopped')).toMatchObject({ line: LINE, function: 'main.handle' });
  await editor.go('next');
  const next = await editor.stoppedAt();
  expect(next).toBeGreaterThan(LINE);
  // The step takes so little time that devloop usually does not see the program run.
  const isNext = ({ line }: { line?: number }): boolean => line === next;
  await eventually(async () =>
    expect([...recorder.all('debug.stepped'), ...recorder.all('debug.stopped')].some(isNext)).toBe(true),
  );
  expect(debug.stoppedAt).toBe(`main.go:${next} in main.handle`);
  editor[Symbol.dispose]();
  expect(await answer).toBe('4\n');
  expect(await recorder.waitFor('debug.left')).toMatchObject({ editor: 'the test' });
  // Its breakpoint is gone.
  expect(await get(`${url}/another`)).toBe('8\n');
});

test('a controller at a breakpoint answers and ends, and the editor comes back to the next one', async () => {
  const { recorder, debug, port, start } = await session();
  const { controller, url } = await start();
  const editor = await attached(port);
  const answer = get(`${url}/one`);
  await editor.stoppedAt();
  const ended = controller.stop({ graceMs: 30_000 });
  expect(await editor.event('terminated')).toEqual({ restart: true });
  expect(await answer).toBe('4\n');
  expect(await ended).toEqual({ code: 3, signal: null, isGone: true });
  expect(controller.lastLines()).toEqual(['running', 'ending']);
  expect(await groupsOf(controller.pid!)).toEqual([]);

  // As an editor does: it leaves the old session and begins the new one at once. The new one has to wait.
  await editor.ask('disconnect', { restart: true });
  const returning = attached(port);
  const next = await start();
  expect(await isSettled(debug)).toBe(true);
  expect(recorder.all('debug.attached')).toHaveLength(2);
  const again = await returning;
  const second = get(`${next.url}/second`);
  expect(await again.stoppedAt()).toBe(LINE);
  await again.go('continue');
  expect(await second).toBe('7\n');
});

/** As GoLand and `dlv connect` speak to delve. */
async function rawClient(port: number) {
  const client = connect({ host: '127.0.0.1', port });
  onTestFinished(() => void client.destroy());
  const lines = createInterface({ input: client });
  let last = 0;
  return {
    async call(method: string, params: object): Promise<{ result: unknown; error: unknown }> {
      last += 1;
      const id = last;
      client.write(`${JSON.stringify({ method: `RPCServer.${method}`, params: [params], id })}\n`);
      for (;;) {
        const answer = JSON.parse((await once(lines, 'line'))[0]);
        if (answer.id === id) return answer;
      }
    },
    close: () => client.destroy(),
  };
}

test('a client of delve itself is connected as it is, and where it stops the controller is known', async () => {
  const { recorder, port, start } = await session();
  const { url } = await start();
  const client = await rawClient(port);
  expect(await client.call('State', { NonBlocking: true })).toMatchObject({
    result: { State: { Running: true } },
  });
  await recorder.waitFor('debug.attached');
  await client.call('Command', { name: 'halt' });
  await recorder.waitFor('debug.stopped');
  const breakpoint = { Breakpoint: { file: source, line: LINE } };
  expect(await client.call('CreateBreakpoint', breakpoint)).toMatchObject({ error: null });
  const stopped = client.call('Command', { name: 'continue' });
  await recorder.waitFor('debug.running');
  const answer = get(`${url}/one`);
  await stopped;
  const isHere = ({ line }: { line?: number }) => line === LINE;
  expect(await recorder.waitFor('debug.stopped', isHere)).toMatchObject({ function: 'main.handle' });
  client.close();
  expect(await answer).toBe('4\n');
  await recorder.waitFor('debug.left');
});

test('a panic ends the controller where no editor looks', async () => {
  const { start } = await session();
  const { controller, url } = await start();
  void get(`${url}/panic`).catch(() => {});
  expect(await controller.exited).toEqual({ code: 2, signal: null, isGone: true });
});

test('what a killed devloop leaves is ended with its debugger, also at a breakpoint', async () => {
  const { port, start } = await session();
  const { controller, url } = await start();
  const editor = await attached(port);
  void get(`${url}/one`).catch(() => {});
  await editor.stoppedAt();
  const pid = controller.pid!;
  const file = join(await directoryWith(), 'controller.json');
  recordProcess(file, { pid, startTime: startTimeOf(pid)!, command: ['manager'] });
  expect(await endOrphan(file)).toMatchObject({ pid });
  expect(await groupsOf(pid)).toEqual([]);
});

test('a debugger that is killed takes the controller with it', async () => {
  const { start } = await session();
  const { controller } = await start();
  controller.kill();
  expect(await controller.exited).toEqual({ code: null, signal: 'SIGKILL', isGone: true });
  expect(await groupsOf(controller.pid!)).toEqual([]);
});

test('what is no debugger is refused, and the port that is taken is named', async () => {
  const { recorder, port } = await session();
  const stranger = new DapClient(port);
  stranger.write('GET / HTTP/1.1\r\n\r\n');
  await stranger.closed;
  expect(recorder.all('warning')).toHaveLength(1);
  const again = openDebugger(port, dlv, { emit: () => {}, signal: new AbortController().signal });
  await expect(again).rejects.toMatchObject({ code: 'port.in-use' });
});
