import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { pollUntil } from '../../../src/async.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import { runTool } from '../../../src/machine/tool.ts';
import { directoryWith } from '../controller/support/places.ts';

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
    const onLeft = vi.fn();
    const { code, stdout } = await runTool(STARTS('exit 3'), { contained: { onLeft } });
    expect(code).toBe(3);
    expect(onLeft).toHaveBeenCalledOnce();
    const pids = pidsIn(stdout);
    expect(pids).toHaveLength(2);
    expect(await areGone(pids)).toBe(true);
  },
);

test('what ends on its own is not killed', async () => {
  const words = ['sh', '-c', 'sleep 0.2 & exit 0'];
  const contained = { onLeft: () => expect.unreachable() };
  expect(await runTool(words, { contained })).toMatchObject({ code: 0 });
  expect(await runTool(['/nowhere'], { contained })).toMatchObject({ missing: true });
});

test.runIf(process.platform === 'linux')(
  'after an interruption, what it has started may clean up for as long as itself, and what ignores that is reported',
  async () => {
    const directory = await directoryWith({});
    const interruptedAfter = async (words: string, ms: number) => {
      await using output = await open(join(directory, 'output'), 'w+');
      const read = async () => (await readFile(join(directory, 'output'), 'utf8')).trim().split('\n');
      const interrupt = new AbortController();
      const said: string[] = [];
      const running = runTool(['bash', '-c', words], {
        ...{ signal: interrupt.signal, stdio: ['ignore', output.fd, output.fd] },
        grace: { ms, onKilled: () => void said.push('killed') },
        contained: { onLeft: () => void said.push('left') },
      });
      await pollUntil(async () => (await read()).includes('runs'), { everyMs: 20, limitMs: 10_000 });
      interrupt.abort(new Error('Ctrl-C'));
      await expect(running).rejects.toThrow('Ctrl-C');
      return [...(await read()), ...said];
    };
    // Without the handler, a process in the background of a shell ignores SIGINT.
    const child = (onInt: string) =>
      `process.on('SIGINT', () => ${onInt}); console.error('runs'); setInterval(() => {}, 1000)`;
    const inShell = (script: string) => `${process.execPath} -e "${script}" & wait`;
    const cleansUp = child("setTimeout(() => { console.error('clean'); process.exit() }, 1500)");
    expect(await interruptedAfter(inShell(cleansUp), 20_000)).toEqual(['runs', 'clean']);
    expect(await interruptedAfter(inShell(child('{}')), 100)).toEqual(['runs', 'killed']);
    const leaves = "setsid sh -c 'echo runs >&2; exec sleep 60 2>/dev/null' >/dev/null & wait";
    expect(await interruptedAfter(leaves, 20_000)).toEqual(['runs', 'left']);
  },
);

test.runIf(process.platform === 'linux')(
  'a contained program and what it has started end with the process that is killed',
  async () => {
    const words = JSON.stringify(STARTS('echo $$; sleep 60'));
    const script = `const { runTool } = await import(${JSON.stringify(TOOL)});
      await runTool(${words}, { contained: { onLeft() {} }, stdio: ['ignore', 1, 2] });`;
    // Of a checkout, with a PATH that begins with the current directory.
    const cwd = await directoryWith({ grep: '#!/bin/sh\n' });
    await chmod(join(cwd, 'grep'), 0o755);
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd,
      env: { ...process.env, PATH: `.:${process.env.PATH}` },
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
