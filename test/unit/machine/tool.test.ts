import { expect, onTestFinished, test } from 'vitest';
import { runTool } from '../../../src/machine/tool.ts';

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

test('all of its output arrives', async () => {
  const { stdout } = await run('process.stdout.write("x".repeat(5_000_000))');
  expect(stdout).toHaveLength(5_000_000);
});
