import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DevloopError, type Ending } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { Io } from '../../../src/session/context/options.ts';
import type { Guest, RunningSession } from '../../../src/session/running.ts';
import { test as runTest } from '../../../src/session/test.ts';
import { partly } from '../../support/partly.ts';

const NOT_RESTORED = new DevloopError('undo.incomplete', 'not restored');
const DENIED = partly<DevloopEvent>({ type: 'review', verdict: 'denied' });
const ALLOWED = partly<DevloopEvent>({ type: 'review', verdict: 'allowed' });

interface Host {
  /** How the session ends after the command. */
  end?: () => void;
  /** What happens while the command runs. */
  during?: DevloopEvent[];
  printsAll?: boolean;
  ending?: AbortController;
}

async function run(command: string[], { end, during = [], printsAll = false, ending }: Host = {}) {
  const events: DevloopEvent[] = [];
  const cwd = await mkdtemp(join(tmpdir(), 'devloop-test-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const signal = ending?.signal ?? new AbortController().signal;
  const io: Io = { emit: (event) => void events.push(event), signal, env: process.env, cwd };
  let wasTaken = false;
  const takeOver = async (own: Io, guest: Guest): Promise<void> => {
    wasTaken = true;
    const emit = (event: DevloopEvent): void => {
      guest.observe(event);
      own.emit(event);
      if (event.type === 'test.started')
        for (const one of during) emit({ ...one, at: new Date().toISOString() } as DevloopEvent);
    };
    const session = partly<RunningSession>({
      context: { root: cwd, api: { kubeconfigFiles: [] } },
      ...{ files: { directory: cwd }, options: {}, standing: {}, io: own, work: { emit, signal } },
    });
    await guest.attend(session);
    end?.();
  };
  const ended = await runTest({ command, printsAll, stdout: 1 }, io, takeOver).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { ended, events, wasTaken };
}

test.each([
  ['true', undefined],
  ['exit 3', 3],
  ['kill -KILL $$', 137],
])('%s ends with %s', async (script, exitCode) => {
  const { ended } = await run(['sh', '-c', script]);
  expect((ended as Ending | undefined)?.exitCode).toBe(exitCode);
});

test('a restore that fails is 4 if the command passed, and else its error is reported beside the code of the command', async () => {
  const end = (): never => {
    throw NOT_RESTORED;
  };
  expect((await run(['true'], { end })).ended).toMatchObject({ exitCode: 4, cause: NOT_RESTORED });
  expect((await run(['false'], { end })).ended).toMatchObject({ exitCode: 1, cause: NOT_RESTORED });
});

test('a session that ends before the command ends that, and its error stays', async () => {
  const ending = new AbortController();
  const running = run(['sleep', '60'], { ending });
  setTimeout(() => ending.abort(NOT_RESTORED), 200);
  expect((await running).ended).toBe(NOT_RESTORED);
});

test('a command that is not there, or no program, is told apart as in a shell, before anything is taken over', async () => {
  const missing = await run(['no-such-program']);
  expect([missing.wasTaken, (missing.ended as DevloopError).code]).toEqual([false, 'test.not-found']);
  const directory = await run(['/tmp']);
  expect([directory.wasTaken, (directory.ended as DevloopError).code]).toEqual([
    false,
    'test.not-executable',
  ]);
});

test('so is a script whose interpreter is missing', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-script-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const script = join(directory, 'suite');
  await writeFile(script, '#!/no/such/interpreter\n');
  await chmod(script, 0o755);
  expect((await run([script])).ended).toMatchObject({ code: 'test.not-executable', exitCode: 126 });
});

test('what was denied is printed at the end, and all with the wish for it', async () => {
  const types = (events: DevloopEvent[]) => events.map(({ type }) => type);
  const brief = await run(['false'], { during: [ALLOWED, DENIED] });
  expect(types(brief.events)).toEqual(['test.started', 'review', 'test.done']);
  expect(brief.events.at(-1)).toMatchObject({ reviews: { all: 2, denied: 1 }, hint: /--verbose/ });
  const all = await run(['false'], { during: [ALLOWED, DENIED], printsAll: true });
  expect(types(all.events)).toEqual(['test.started', 'review', 'review', 'test.done']);
});
