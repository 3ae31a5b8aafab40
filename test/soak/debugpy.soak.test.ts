import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startCluster } from '../cluster/cluster.ts';
import { debugpy } from '../support/debugpy.ts';
import { DapClient } from '../support/delve.ts';
import { startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { askHook, deployHooks, HOOK_NAMESPACE, hooksAtRest } from '../support/hook-operator.ts';
import { snapshot } from '../support/snapshot.ts';

const SERVER = join(import.meta.dirname, '../fixtures/e2e/hook-server.py');

it('a webhook in Python under debugpy: waits for its client within readySeconds, stands at a breakpoint, and answers', async () => {
  const log = (line: string): void => console.error(line);
  const [library, port] = [await debugpy(log), await freePort()];
  await using cluster = await startCluster({ certManager: false, log });
  await deployHooks(cluster);
  const before = await snapshot(cluster, HOOK_NAMESPACE);
  const cwd = await mkdtemp(join(tmpdir(), 'devloop-debugpy-'));
  const services = ['first', 'second'].flatMap((name) => ['--service', `${HOOK_NAMESPACE}/${name}`]);
  const debug = ['python3', '-m', 'debugpy', '--listen', `127.0.0.1:${port}`, '--wait-for-client'];
  const env = { KUBECONFIG: cluster.kubeconfig, PYTHONPATH: library, PYDEVD_DISABLE_FILE_VALIDATION: '1' };
  await using up = startDevloop(['up', ...services, '--', ...debug, SERVER, '9444', '9445'], { cwd, env });
  await up.waitFor('controller.started', undefined, 120_000);
  const line = (await readFile(SERVER, 'utf8')).split('\n').findIndex((one) => one.includes('uid = ')) + 1;
  using editor = await eventually(async () => {
    const client = new DapClient(port);
    await client.begin(SERVER, []);
    return client;
  }, 60_000);
  await up.waitFor('session.ready', undefined, 120_000);
  // Before that, devloop asks for each path whether it is served.
  await editor.ask('setBreakpoints', { source: { path: SERVER }, breakpoints: [{ line }] });
  const asked = askHook(cluster, 'first').then(String, (error: Error) => error.message);
  expect(await editor.stoppedAt()).toBe(line);
  await editor.go('next');
  expect(await editor.stoppedAt()).toBe(line + 1);
  await editor.go('continue');
  expect(await asked).toContain('Python says no');
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  await hooksAtRest(cluster);
  expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  await rm(cwd, { recursive: true });
});
