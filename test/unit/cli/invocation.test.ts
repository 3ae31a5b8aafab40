import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BIN, runBin } from './run-bin.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'devloop-cli-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

it('speaks of `kubectl devloop` when kubectl calls it', () => {
  const plugin = join(directory, 'kubectl-devloop');
  symlinkSync(BIN, plugin);
  const { stdout } = runBin(['up', '--help'], { bin: plugin });
  expect(stdout).toMatch(/^Usage: kubectl devloop up/);
  expect(stdout).toContain('kubectl devloop up --dry-run');
});

it('an answer that a full disk cuts ends in an error, and one whose reader leaves does not', () => {
  const asked = [process.execPath, BIN, 'doctor', '--help'].join(' ');
  const run = (sink: string) =>
    spawnSync('bash', ['--norc', '-o', 'pipefail', '-c', `${asked} ${sink}`], { encoding: 'utf8' });
  expect(run('>/dev/full')).toMatchObject({
    status: 6,
    stderr: expect.stringMatching(/^error: .*disk is full.*\n$/),
  });
  expect(run('| head -1')).toMatchObject({ status: 0, stderr: '' });
});

describe('on an old Node', () => {
  const pretend = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })";
  const nodeFlags = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
  const INSTALLED = `node-${process.platform}-${process.arch}`;

  /** The package as npm lays it out, with a Node of this version beside it. */
  function installed(version?: string): string {
    const root = join(directory, 'node_modules/kube-devloop');
    for (const part of ['bin', 'dist', 'package.json', 'docs'])
      cpSync(join(BIN, '../..', part), join(root, part), { recursive: true });
    if (version !== undefined) {
      const node = join(directory, 'node_modules', INSTALLED);
      mkdirSync(join(node, 'bin'), { recursive: true });
      writeFileSync(join(node, 'package.json'), JSON.stringify({ version }));
      symlinkSync(process.execPath, join(node, 'bin/node'));
    }
    return join(root, 'bin/devloop.js');
  }

  it('runs on the Node that was installed with it, by the name that was typed', () => {
    const plugin = join(directory, 'kubectl-devloop');
    symlinkSync(installed('24.1.0'), plugin);
    const { code, stdout } = runBin(['up', '--help'], { nodeFlags, bin: plugin });
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: kubectl devloop up/),
    });
    expect(runBin(['up', '--port', 'x'], { nodeFlags, bin: plugin }).code).toBe(2);
  });

  it('passes a signal on, and ends as the other one does', async () => {
    const node = installed('24.1.0');
    const { child, server } = await startBusy([...nodeFlags, node]);
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    server.close();
    expect(code).toBe(130);
  });

  it.each([undefined, '22.1.0'])('fails at once without one, or with an old one (%s)', (version) => {
    const bin = installed(version);
    const { code, stdout, stderr } = runBin(['up'], { nodeFlags, bin });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/needs Node 24 or newer/);
    expect(stderr).toContain(`npx -y -p node@24 node ${bin} …`);
  });
});

it('says within seconds what it waits for', async () => {
  const { child, server } = await startBusy();
  let stderr = '';
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  await expect.poll(() => stderr, { timeout: 60_000 }).toMatch(/^waiting for the cluster \(\d+ s\)/m);
  child.kill('SIGTERM');
  await once(child, 'exit');
  server.close();
});

describe('leaving', () => {
  it('at the first Ctrl-C, as long as nothing was changed', async () => {
    const { child, server } = await startBusy();
    let stderr = '';
    child.stderr?.on('data', (chunk) => (stderr += chunk));
    child.kill('SIGINT');
    const [code] = await once(child, 'close');
    server.close();
    expect(code).toBe(130);
    expect(stderr.match(/SIGINT/g)).toHaveLength(1);
    expect(stderr.trim().split('\n').at(-1)).toMatch(/^error: .*Nothing was changed/);
  });

  it('takes a second Ctrl-C at its word', async () => {
    const { child, server } = await startBusy([BIN], 'doctor');
    let stderr = '';
    child.stderr?.on('data', (chunk) => (stderr += chunk));
    child.kill('SIGINT');
    await expect.poll(() => stderr).toMatch(/^note +SIGINT: .*second Ctrl-C/m);
    // If it came sooner, it would count as the same Ctrl-C, passed on by npm.
    await new Promise((resolve) => setTimeout(resolve, 400));
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    server.close();
    expect(code).toBe(130);
  });
});

it('does not crash when the reader of its output goes away', () => {
  const line = `'${process.execPath}' '${BIN}' up --port x --json | true; echo "\${PIPESTATUS[0]}"`;
  expect(spawnSync('bash', ['--norc', '-c', line], { encoding: 'utf8' })).toMatchObject({
    stdout: '2\n',
    stderr: '',
  });
});

it.each(['--help', '--version'])('says nothing when nobody reads its %s', (flag) => {
  const line = `{ sleep 0.2; '${process.execPath}' '${BIN}' ${flag}; echo "code $?" >&2; } | true`;
  const { stderr } = spawnSync('bash', ['--norc', '-c', line], { encoding: 'utf8' });
  expect(stderr).toBe('code 0\n');
});

/** An API server that never answers keeps a command busy. */
async function startBusy(
  program = [BIN],
  command = 'up',
): Promise<{
  child: ReturnType<typeof spawn>;
  server: ReturnType<typeof createServer>;
}> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const kubeconfig = join(directory, 'config');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: `https://127.0.0.1:${port}` } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      users: [{ name: 'test', user: { token: 'test' } }],
    }),
  );
  const child = spawn(
    process.execPath,
    [...program, command, '--kubeconfig', kubeconfig, '--service', 'a/b'],
    {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  await once(server, 'connection');
  return { child, server };
}
