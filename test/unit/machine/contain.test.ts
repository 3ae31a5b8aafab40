import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pollUntil } from '../../../src/async.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import { runTool } from '../../../src/machine/tool.ts';

const TOOL = join(import.meta.dirname, '../../../src/machine/tool.ts');
/** One process that stays in the session of the program, and one that leaves it. Both keep nothing open, and the program ends or waits. */
const STARTS = (then: string): string[] => [
  ...['sh', '-c'],
  `sleep 60 >/dev/null 2>&1 & echo $!; setsid sleep 60 >/dev/null 2>&1 & echo $!; ${then}`,
];

function pidsIn(text: string): number[] {
  return text.trim().split('\n').map(Number);
}

async function areGone(pids: number[]): Promise<boolean> {
  const limits = { everyMs: 20, limitMs: 10_000 };
  return await pollUntil(async () => pids.every((pid) => startTimeOf(pid) === undefined), limits);
}

test.runIf(process.platform === 'linux')(
  'what a contained program has started ends with it, also outside of its session',
  async () => {
    const { code, stdout, left } = await runTool(STARTS('exit 3'), { contained: true });
    expect([code, left]).toEqual([3, true]);
    const pids = pidsIn(stdout);
    expect(pids).toHaveLength(2);
    expect(await areGone(pids)).toBe(true);
  },
);

test('what ends on its own is not killed', async () => {
  const words = ['sh', '-c', 'sleep 0.2 & exit 0'];
  expect(await runTool(words, { contained: true })).toMatchObject({ code: 0, left: false });
  expect(await runTool(['/nowhere'], { contained: true })).toMatchObject({ missing: true, left: false });
});

test.runIf(process.platform === 'linux')(
  'a contained program and what it has started end with the process that is killed',
  async () => {
    const words = JSON.stringify(STARTS('echo $$; sleep 60'));
    const script = `const { runTool } = await import(${JSON.stringify(TOOL)});
      await runTool(${words}, { contained: true, stdio: ['ignore', 1, 2] });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk));
    await pollUntil(async () => text.trim().split('\n').length === 3, { everyMs: 20, limitMs: 10_000 });
    child.kill('SIGKILL');
    await once(child, 'exit');
    const pids = pidsIn(text);
    expect(pids).toHaveLength(3);
    expect(await areGone(pids)).toBe(true);
  },
);
