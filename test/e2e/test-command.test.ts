/** `devloop test` without a cluster: the command meets the local code, its exit code is devloop's, and nothing of it is left. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { BIN, type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { isRunning } from '../support/is-running.ts';
import { application, checkoutSample } from '../support/sample-operator.ts';

const LOG = (line: string) => console.error(line);
const BAD = 'config/samples/apps_v1_application_bad.yaml';

it('a command runs against the code of a checkout that was never deployed, and ends with devloop however that ends', async () => {
  await using checkout = await checkoutSample();
  const cwd = checkout.directory;
  const env = {
    XDG_STATE_HOME: join(cwd, '.state'),
    KUBECONFIG: join(cwd, 'no-kubeconfig'),
    KUBEBUILDER_ASSETS: '',
  };
  const { cluster } = await ensureClusterBinaries({ log: LOG });
  const assets = join(cwd, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver'])
    await writeFile(join(assets, name), `#!/bin/sh\nexec ${cluster} ${name} "$@"\n`, { mode: 0o755 });
  await writeFile(join(cwd, 'web.yaml'), application('web', 'example.com/shop:1'));
  const testing = (...command: string[]) => ['test', '--embedded', '--', ...command];

  const missing = await runDevloop(testing('no-such-suite'), { cwd, env });
  expect(missing.code, missing.log).toBe(127);
  expect(missing.events).toMatchObject([{ type: 'error', code: 'test.not-found' }]);

  // Standard output is the command's alone.
  const passes = `kubectl apply -f web.yaml && kubectl get application web -o 'jsonpath={.spec.port}' && echo " $KUBEBUILDER_ASSETS"`;
  const passed = await promisify(execFile)(process.execPath, [BIN, ...testing('sh', '-c', passes)], {
    cwd,
    env: { ...process.env, ...env },
  });
  expect(passed.stdout).toBe(`application.apps.example.com/web created\n8080 ${assets}\n`);
  expect(passed.stderr).toMatch(/tested .* passed after .*; \d+ reviews?/);

  const fails = `kubectl apply -f ${BAD}; sleep 300 >/dev/null 2>&1 & echo $! > left; exit 3`;
  const failed = await runDevloop(testing('sh', '-c', `kubectl get namespace default; ${fails}`), {
    cwd,
    env,
  });
  expect(failed.code, failed.log).toBe(3);
  const done = failed.events.find(({ type }) => type === 'test.done');
  expect(done).toMatchObject({ exitCode: 3, reviews: { denied: 1 } });
  expect(failed.events.some((one) => one.type === 'warning' && one.code === 'test.left')).toBe(true);
  expect(await isRunning(Number(await readFile(join(cwd, 'left'), 'utf8')))).toBe(false);

  const waits = `trap 'echo interrupted > got; exit 0' INT; echo $$ > pid; while :; do sleep 0.1; done`;
  const pids: number[] = [];
  const started = async (): Promise<DevloopRun> => {
    const run = startDevloop(testing('sh', '-c', waits), { cwd, env });
    await run.waitFor('test.started');
    await eventually(async () => {
      pids.push(Number(await readFile(join(cwd, 'pid'), 'utf8')));
      expect(pids.at(-1)).toBeGreaterThan(pids.at(-2) ?? 0);
    });
    return run;
  };
  await using killed = await started();
  killed.signal('SIGKILL');
  await eventually(async () => expect(await isRunning(pids.at(-1)!)).toBe(false));

  await using interrupted = await started();
  interrupted.signal('SIGINT');
  expect(await interrupted.exited, interrupted.log()).toBe(130);
  expect(await readFile(join(cwd, 'got'), 'utf8')).toBe('interrupted\n');
  expect(await isRunning(pids.at(-1)!)).toBe(false);
});
