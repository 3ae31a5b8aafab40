/** A session in the background that other terminals control: one embedded session of the sample for all of it. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { installAssets } from '../support/assets.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { checkoutSample } from '../support/sample-operator.ts';

const OLDER = `
  const child = require('node:child_process').spawn(process.argv[1], process.argv.slice(2), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  child.on('exit', (code) => process.exit(code));
`;

it('a session in the background is waited for, restarted, read and ended from other terminals, and ends when nobody uses it', async () => {
  await using checkout = await checkoutSample();
  const cwd = checkout.directory;
  const state = join(cwd, '.state');
  const env = { XDG_STATE_HOME: state, KUBECONFIG: join(cwd, 'no-kubeconfig'), KUBEBUILDER_ASSETS: '' };
  await installAssets(cwd);
  const run = (...args: string[]) => runDevloop(args, { cwd, env });
  // As through an older Node, whose end ends the devloop that it has started (bin/devloop.js).
  const throughOlder = (...args: string[]) =>
    runDevloop(args, { cwd, env, through: [process.execPath, '-e', OLDER] });
  const sessions = async () =>
    (await readdir(join(state, 'devloop'))).filter((name) => !name.startsWith('.'));

  const main = join(cwd, 'cmd/main.go');
  const source = await readFile(main, 'utf8');
  await writeFile(main, `${source}\nfunc {`);
  const failed = await run('up', '--embedded', '--detach');
  expect(failed.code, failed.log).toBe(6);
  expect(failed.events.at(-1)).toMatchObject({ type: 'error', code: 'controller.build-failed' });
  await writeFile(main, source);
  const up = await throughOlder('up', '--embedded', '--detach');
  expect(up.code, up.log).toBe(0);
  await using _ = { [Symbol.asyncDispose]: async () => void (await run('down')) };
  expect(up.events).toContainEqual(expect.objectContaining({ type: 'session.ready', detached: true }));
  const { values } = up.events.at(-1) as unknown as {
    values: { session: string; pid: number; file: string };
  };
  const { session } = values;

  await using following = startDevloop(['logs', '--follow'], { cwd, env });
  await following.waitFor('output.line');
  const builds = new Set<string | undefined>();
  const serving = async (...args: string[]) => {
    const { code, events, log } = await run(...args);
    expect(code, log).toBe(0);
    builds.add((events.find(({ type }) => type === 'session.serving') as { build?: string }).build);
  };
  await serving('wait');
  await writeFile(main, `${source}\nvar _ = "another build"\n`);
  await serving('wait');
  expect(builds.size).toBe(2);
  await writeFile(main, `${source}\nfunc {`);
  const broken = await run('wait');
  expect(broken.code, broken.log).toBe(6);
  expect(broken.events.at(-1)).toMatchObject({ code: 'controller.build-failed', message: /main\.go:\d+/ });
  await writeFile(main, source);
  await serving('restart', '--timeout', '2m');
  await following.waitFor('output.line', ({ line }) => line.includes('Starting workers'));

  const found = await run('env', '--existing-cluster');
  expect(found.events).toMatchObject([
    { type: 'environment', session, isEmbedded: true, variables: { USE_EXISTING_CLUSTER: 'true' } },
  ]);
  await run('fault', 'add', '409 update deployments');
  const status = await run('status');
  expect(status.events.at(-1)).toMatchObject({ sessions: [{ session, state: 'live', faults: 1 }] });

  expect((await run('down')).code).toBe(0);
  expect(await following.exited, following.log()).toBe(0);
  expect(await sessions()).toEqual([]);
  const last = await run('logs', '-n', '3');
  expect(last.events.filter(({ type }) => type === 'output.line')).toHaveLength(3);
  expect((await run('wait')).code).toBe(2);

  expect((await run('up', '--embedded', '--detach', '--idle', '3s')).code).toBe(0);
  await expect.poll(sessions, { timeout: 60_000 }).toEqual([]);
  expect(await readFile(values.file, 'utf8')).toContain('session.idle');
});
