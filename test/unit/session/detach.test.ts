import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pollUntil } from '../../../src/async.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { upDetached } from '../../../src/session/detach.ts';

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'state-'));
});
afterEach(() => rm(state, { recursive: true }));

/** Runs a script in place of `up`: `say` sends a message to the process that started it. */
function detached(script: string, signal = new AbortController().signal) {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const say = "const say = (message) => require('fs').writeSync(3, JSON.stringify(message) + '\\n');";
  const command = () => [process.execPath, '-e', `${say}${script}`];
  const done = upDetached(
    { command, idleMs: 1_000 },
    { cwd: state, env: { PATH: process.env.PATH, XDG_STATE_HOME: state }, emit, signal },
  );
  done.catch(() => {});
  return { events, done };
}

const STAYS = 'setInterval(() => {}, 1000);';
const SAYS = `say({ is: 'event', event: { type: 'build.started', reason: [] } });`;

it('returns when the session is ready, which goes on, and says where it is', async () => {
  const { events, done } = detached(
    `console.log('hello'); ${SAYS} say({ is: 'ready', session: 's1' }); ${STAYS}`,
  );
  await done;
  expect(events).toMatchObject([
    { type: 'build.started' },
    { code: 'session.detached', values: { session: 's1', idleSeconds: 1 } },
  ]);
  const { values } = events.at(-1) as unknown as { values: { pid: number; file: string } };
  expect(await readFile(values.file, 'utf8')).toBe('hello\n');
  process.kill(values.pid, 'SIGTERM');
});

it('removes after a week what a session of another checkout has printed, unless that runs', async () => {
  const directory = join(state, 'devloop/.detached');
  const old = Date.now() / 1000 - 8 * 86_400;
  const begin = async () => await detached(`say({ is: 'ready', session: 's1' });`).done;
  await begin();
  const [own = ''] = await readdir(directory);
  const checkout = '/src/runs';
  const running = `${createHash('sha256').update(checkout).digest('hex').slice(0, 16)}.log`;
  for (const name of ['old.log', 'new.log', running]) await writeFile(join(directory, name), '');
  for (const name of ['old.log', running]) await utimes(join(directory, name), old, old);
  await claimDirectory(await thisMachine({ XDG_STATE_HOME: state }), 'aaaa1111', { checkout });
  await begin();
  expect((await readdir(directory)).toSorted()).toEqual(['new.log', own, running].toSorted());
});

it('fails as the session fails', async () => {
  const failed = { is: 'failed', code: 'controller.build-failed', message: 'x', isSummary: false };
  await expect(detached(`say(${JSON.stringify(failed)})`).done).rejects.toMatchObject({
    ...{ code: 'controller.build-failed', exitCode: 6 },
  });
  await expect(detached('process.exit(3)').done).rejects.toMatchObject({
    ...{ code: 'session.not-ready', message: /code 3/, hint: /\.log/ },
  });
});

it('fails with the error of the session, also if something else has failed after it', async () => {
  const source = (file: string): string => JSON.stringify(join(import.meta.dirname, '../../../src', file));
  const io = '{ emit() {}, signal: new AbortController().signal }';
  const { done } = detached(`(async () => {
    const { DevloopError } = await import(${source('errors.ts')});
    const { runDetached } = await import(${source('session/detached.ts')});
    await runDetached({ file: '/nowhere', idleMs: 1000 }, ${io}, async () => {
      throw new SuppressedError(new Error('y'), new DevloopError('controller.build-failed', 'x'));
    });
  })()`);
  await expect(done).rejects.toMatchObject({ code: 'controller.build-failed', message: 'x' });
});

it('ends the session if it is interrupted before, and shows how it ends', async () => {
  const interrupt = new AbortController();
  const ends = `process.on('SIGTERM', () => { ${SAYS} process.exit(0); });`;
  const { events, done } = detached(`${ends} ${SAYS} ${STAYS}`, interrupt.signal);
  await pollUntil(async () => events.length > 0, { everyMs: 10, limitMs: 10_000 });
  interrupt.abort('SIGINT');
  await expect(done).rejects.toBe('SIGINT');
  expect(events).toHaveLength(2);
});

it('passes on lines of a controller with any character', async () => {
  const line = 'before\u2028after';
  const output = { is: 'event', event: { type: 'controller.output', stream: 'stderr', line } };
  const { events, done } = detached(`say(${JSON.stringify(output)}); say({ is: 'ready', session: 's1' });`);
  await done;
  expect(events[0]).toMatchObject({ line });
});

it('ends the session if it cannot understand it', async () => {
  const ends = `process.on('SIGTERM', () => { console.log('ended'); process.exit(0); });`;
  const { done } = detached(`${ends} require('fs').writeSync(3, 'x\\n'); ${STAYS}`);
  await expect(done).rejects.toThrow(SyntaxError);
  const [file = ''] = await readdir(join(state, 'devloop/.detached'));
  expect(await readFile(join(state, 'devloop/.detached', file), 'utf8')).toBe('ended\n');
});
