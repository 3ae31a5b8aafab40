/** Each system call with which devloop writes a file on this machine fails once, with each error that a disk has. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { record, SOAK } from '../../support/repeat.ts';
import {
  type Call,
  failAt,
  isLasting,
  ONE_FILE_THREAD,
  type Trap,
  traceCalls,
} from '../../support/strace.ts';

const PROGRAM = join(import.meta.dirname, '../../fixtures/local/writes-files.mjs');
const ERRORS = ['ENOSPC', 'EIO', 'EROFS', 'EACCES'];
const hasStrace = process.platform === 'linux' && spawnSync('strace', ['-V']).error === undefined;
/** No address of an API server: only files count. */
const NOWHERE = 'no API server';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'devloop-disk-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Ended {
  name: string;
  code?: string;
  message?: string;
  isExpected?: boolean;
}

/** Runs the program once; `prepare` gets its pid before it writes anything. */
async function runOnce<T>(prepare: (pid: number) => Promise<T>): Promise<{ prepared: T; ended: Ended[] }> {
  const child = spawn(process.execPath, [PROGRAM, root], {
    env: { ...process.env, ...ONE_FILE_THREAD },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  const prepared = await prepare(child.pid!);
  child.stdin.write('go\n');
  const ended: Ended[] = [];
  for (let line = await lines.next(); !line.done; line = await lines.next())
    ended.push(JSON.parse(line.value));
  await exited;
  return { prepared, ended };
}

async function fileCalls(): Promise<Call[]> {
  const log = join(root, 'elsewhere.log');
  const { prepared, ended } = await runOnce((pid) => traceCalls(pid, log));
  expect(ended.filter(({ code }) => code !== undefined)).toEqual([]);
  const calls = await prepared.lasting(NOWHERE);
  return calls.filter(({ text }) => text.includes(root));
}

/** Whether the call was reached, and was one that writes a file. */
async function failsWell(call: Call, error: string): Promise<boolean> {
  const { prepared, ended } = await runOnce<Trap>((pid) =>
    failAt(pid, call, error, join(root, 'elsewhere.log')),
  );
  const at = await prepared.sprung();
  if (at === undefined || !isLasting(at, NOWHERE) || !at.text.includes(root)) return false;
  const last = ended.at(-1);
  expect(last).toMatchObject({ name: 'end' });
  for (const { name, code, message, isExpected } of ended) {
    if (code === undefined) continue;
    expect({ name, isExpected }, `${code} ${message}`).toEqual({ name, isExpected: true });
    expect(code).toMatch(/^(files|certificate)\.not-written$/);
    expect(message).not.toContain('\n');
  }
  // The next session, on a disk that works again, writes and removes everything.
  const next = await runOnce(async () => undefined);
  expect(next.ended.filter(({ code }) => code !== undefined)).toEqual([]);
  expect(existsSync(join(root, 'outside'))).toBe(false);
  expect(readdirSync(join(root, 'state')).filter((name) => !name.startsWith('.'))).toEqual([]);
  return true;
}

it.skipIf(!hasStrace)(
  'a disk that fails is an error with a cause, and the next session cleans up',
  async () => {
    const startedAt = performance.now();
    const calls = await fileCalls();
    const chosen = SOAK
      ? calls
      : ['openat', 'write', 'rename', 'mkdir'].map((name) => calls.find((one) => one.name === name)!);
    const failures: string[] = [];
    let count = 0;
    for (const [index, call] of chosen.entries()) {
      for (const error of SOAK ? ERRORS : [ERRORS[index % ERRORS.length]!]) {
        rmSync(root, { recursive: true });
        root = mkdtempSync(root.replace(/\w{6}$/, ''));
        try {
          if (await failsWell(call, error)) count++;
        } catch (failure) {
          failures.push(`${error} at ${call.text}\n${(failure as Error).message}`);
        }
      }
    }
    record('disk fault at a call that writes a file', count, startedAt);
    expect(failures).toEqual([]);
    expect(count).toBeGreaterThan(SOAK ? 100 : 2);
  },
  3_600_000,
);
