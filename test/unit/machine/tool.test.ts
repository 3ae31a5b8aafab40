import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runTool } from '../../../src/machine/tool.ts';
import { directoryWith } from '../controller/support/places.ts';

/** It leaves its process group, and keeps the output of the tool open. */
const DAEMON = `const daemon = require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: 'inherit' });
daemon.unref();
console.error(daemon.pid);`;

function run(script: string, options = {}): ReturnType<typeof runTool> {
  return runTool([process.execPath, '-e', script], options);
}

function endDaemon(pid: string): void {
  onTestFinished(() => void process.kill(Number(pid)));
}

test('a tool has ended although a daemon that it started keeps its output open', async () => {
  const { code, stderr } = await run(`${DAEMON} process.exitCode = 3`);
  endDaemon(stderr);
  expect(code).toBe(3);
});

test('so has one that is aborted', async () => {
  const interrupted = new AbortController();
  const onErrors = (text: string): void => {
    endDaemon(text);
    interrupted.abort(new Error('Ctrl-C'));
  };
  const running = run(`${DAEMON} setInterval(() => {}, 1000)`, { signal: interrupted.signal, onErrors });
  await expect(running).rejects.toThrow('Ctrl-C');
});

test.each(['', '.'])(
  'a program of the current directory is not run by its name (%j in the PATH)',
  async (entry) => {
    const cwd = await directoryWith({ dlv: '#!/bin/sh\necho ran\n' });
    await chmod(join(cwd, 'dlv'), 0o755);
    const env = { ...process.env, PATH: `/nowhere:${entry}` };
    const before = process.cwd();
    process.chdir(cwd);
    onTestFinished(() => process.chdir(before));
    expect(await runTool(['dlv'], { cwd, env })).toMatchObject({ missing: true, stdout: '' });
  },
);

test('all of its output arrives', async () => {
  const { stdout } = await run('process.stdout.write("x".repeat(5_000_000))');
  expect(stdout).toHaveLength(5_000_000);
});

test('of a tool that writes megabytes, as much as is wanted is kept, the last of it', async () => {
  const { stdout, output } = await run("console.log('x'.repeat(5e6)); console.log('the end')", { keeps: 20 });
  expect([stdout, output]).toEqual([`${'x'.repeat(11)}\nthe end\n`, `${'x'.repeat(11)}\nthe end\n`]);
});

test('a tool that does not end when it is interrupted is killed after its grace, and that is reported', async () => {
  const interrupted = new AbortController();
  let killed = 0;
  const onErrors = (): void => interrupted.abort(new Error('Ctrl-C'));
  const script = "process.on('SIGINT', () => {}); setInterval(() => {}, 1000); console.error('runs')";
  const grace = { ms: 100, onKilled: () => void killed++ };
  const running = run(script, { signal: interrupted.signal, onErrors, grace });
  await expect(running).rejects.toThrow('Ctrl-C');
  expect(killed).toBe(1);
});
