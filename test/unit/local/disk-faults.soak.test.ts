/** Each system call with which devloop writes a file on this machine fails once, with each error that a disk can have. */
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

const FIXTURES = join(import.meta.dirname, '../../fixtures/local');
/** What writes: the files of a session, or everything else. */
const SESSION = join(FIXTURES, 'writes-files.mjs');
const USER = join(FIXTURES, 'writes-user-files.mjs');
const ERRORS = ['ENOSPC', 'EIO', 'EROFS', 'EACCES'];
const hasStrace = process.platform === 'linux' && spawnSync('strace', ['-V']).error === undefined;
/** It has no address of an API server, since only files count. */
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
async function runOnce<T>(
  program: string,
  prepare: (pid: number) => Promise<T>,
): Promise<{ prepared: T; ended: Ended[] }> {
  const child = spawn(process.execPath, [program, root], {
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

async function fileCalls(program: string): Promise<Call[]> {
  const log = join(root, 'elsewhere.log');
  const { prepared, ended } = await runOnce(program, (pid) => traceCalls(pid, log));
  expect(ended.filter(({ code }) => code !== undefined)).toEqual([]);
  const calls = await prepared.lasting(NOWHERE);
  return calls.filter(({ text }) => text.includes(root));
}

/** Whether the call was reached, and was one that writes a file. */
async function failsWell(program: string, call: Call, error: string): Promise<boolean> {
  const { prepared, ended } = await runOnce<Trap>(program, (pid) =>
    failAt(pid, call, error, join(root, 'elsewhere.log')),
  );
  const at = await prepared.sprung();
  if (at === undefined || !isLasting(at, NOWHERE) || !at.text.includes(root)) return false;
  expect(ended.at(-1)).toMatchObject({ name: 'end' });
  for (const { name, code, message, isExpected } of ended) {
    if (message === undefined) continue;
    expect({ name, isExpected }, `${code} ${message}`).toEqual({ name, isExpected: true });
    expect(code).toMatch(/^(files|certificate)\.not-written$/);
    expect(message).not.toContain('\n');
  }
  if (program === SESSION) await expectCleanedUp(call);
  else expect(ended.filter(({ name }) => name === 'warning').length).toBeLessThan(2);
  return true;
}

/** The next session, on a disk that works again, writes and removes everything; but an empty directory whose removal failed stays. */
async function expectCleanedUp(failed: Call): Promise<void> {
  const next = await runOnce(SESSION, async () => undefined);
  expect(next.ended.filter(({ code }) => code !== undefined)).toEqual([]);
  const outside = join(root, 'outside');
  const left = existsSync(outside) ? readdirSync(outside, { recursive: true }) : undefined;
  expect([undefined, ...(failed.name === 'rmdir' ? [[], ['certs']] : [])]).toContainEqual(left);
  expect(readdirSync(join(root, 'devloop')).filter((name) => !name.startsWith('.'))).toEqual([]);
}

const KINDS: [title: string, program: string, quick: string[]][] = [
  [
    'a disk that fails is an error with a cause, and the next session cleans up',
    SESSION,
    ['openat', 'write', 'rename', 'mkdir'],
  ],
  [
    "a disk that fails leaves the user's files as they were, and ends no session for a recording or a kept program",
    USER,
    ['openat', 'write', 'rename', 'link'],
  ],
];

it.skipIf(!hasStrace).each(KINDS)(
  '%s',
  async (title, program, quick) => {
    const startedAt = performance.now();
    const calls = await fileCalls(program);
    const chosen = SOAK ? calls : quick.map((name) => calls.find((one) => one.name === name)!);
    const failures: string[] = [];
    let count = 0;
    for (const [index, call] of chosen.entries()) {
      for (const error of SOAK ? ERRORS : [ERRORS[index % ERRORS.length]!]) {
        rmSync(root, { recursive: true });
        root = mkdtempSync(root.replace(/\w{6}$/, ''));
        try {
          if (await failsWell(program, call, error)) count++;
        } catch (failure) {
          failures.push(`${error} at ${call.text}\n${(failure as Error).message}`);
        }
      }
    }
    record(title, count, startedAt);
    expect(failures.join('\n\n')).toBe('');
    expect(count).toBeGreaterThan(SOAK ? 100 : 2);
  },
  3_600_000,
);
