/** A coding agent's whole loop, with the official client: without a cluster, and nothing is left of it. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../src/report/events.ts';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { BIN } from '../support/devloop.ts';
import { application, checkoutSample } from '../support/sample-operator.ts';

const LOG = (line: string) => console.error(line);
const NEEDS_IMAGE = '"an Application needs an image"';
const WEBHOOK = 'internal/webhook/v1/application_webhook.go';

it('an agent starts a session, learns why a write was denied, edits, looks, verifies, and ends with nothing left', async () => {
  await using checkout = await checkoutSample();
  const cwd = checkout.directory;
  const { cluster } = await ensureClusterBinaries({ log: LOG });
  const assets = join(cwd, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver'])
    await writeFile(join(assets, name), `#!/bin/sh\nexec ${cluster} ${name} "$@"\n`, { mode: 0o755 });
  const state = join(cwd, '.state');
  const env = {
    ...process.env,
    XDG_STATE_HOME: state,
    KUBECONFIG: join(cwd, 'none'),
    KUBEBUILDER_ASSETS: '',
  };
  const transport = new StdioClientTransport({
    ...{
      command: process.execPath,
      args: [BIN, 'mcp'],
      cwd,
      env: env as never,
      stderr: 'inherit',
    },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const ask = async (name: string, input: object = {}) => {
    const result = await client.callTool({ name, arguments: { ...input } }, { timeout: 300_000 });
    const { events, error } = result.structuredContent as {
      events: DevloopEvent[];
      error?: { code: string };
    };
    return { events, error, text: JSON.stringify(result.content) };
  };
  const found = async (name: string, input: object, part: string) => {
    await expect.poll(async () => (await ask(name, input)).text, { timeout: 30_000 }).toContain(part);
    return (await ask(name, input)).events;
  };

  let started = await ask('start', { seconds: 1 });
  expect(started.text).toContain('still starting');
  const told = [...started.events];
  while (started.error === undefined && started.text.includes('still starting')) {
    started = await ask('start', { seconds: 2 });
    told.push(...started.events);
  }
  expect(started.error, started.text).toBeUndefined();
  const isCluster = (event: DevloopEvent) => event.type === 'note' && event.code === 'embedded.started';
  const { values } = told.find(isCluster) as { values: object };
  const { kubeconfig } = values as { kubeconfig: string };
  const kubectl = async (...words: string[]) =>
    (await promisify(execFile)('kubectl', ['--kubeconfig', kubeconfig, ...words])).stdout;
  expect((await ask('start')).error).toBeUndefined();
  expect((await ask('status')).events).toMatchObject([{ type: 'status', sessions: [{ state: 'live' }] }]);

  // Why was it denied?
  const bad = join(cwd, 'config/samples/apps_v1_application_bad.yaml');
  await expect(kubectl('apply', '-f', bad)).rejects.toThrow('is invalid');
  const [denied] = await found('reviews_list', { verdict: 'denied' }, 'needs an image');
  const { id } = (denied as Extract<DevloopEvent, { type: 'reviews.listed' }>).review;
  expect((await ask('reviews_show', { ids: [id] })).text).toContain('replicas: 2');

  // An edit that does not build, and one that does.
  const webhook = join(cwd, WEBHOOK);
  const source = await readFile(webhook, 'utf8');
  await writeFile(webhook, source.replace(NEEDS_IMAGE, `${NEEDS_IMAGE} +`));
  const broken = await ask('wait');
  expect(broken.error, broken.text).toMatchObject({ code: 'controller.build-failed' });
  expect(broken.text).toContain('application_webhook.go');
  await writeFile(webhook, source.replace(NEEDS_IMAGE, '"this Application has no image"'));
  for (const tool of ['restart', 'wait']) expect((await ask(tool)).error, tool).toBeUndefined();
  const replayed = await ask('reviews_replay', { ids: [id] });
  expect(replayed.error, replayed.text).toMatchObject({ code: 'review.changed' });
  expect(replayed.text).toContain('this Application has no image');

  // What did the reconciler do?
  const file = join(cwd, 'web.yaml');
  await writeFile(file, application('web', 'example.com/shop:1'));
  expect((await ask('fault_add', { faults: ['409 create deployments count=1'] })).error).toBeUndefined();
  await kubectl('apply', '-f', file);
  await found('reconciles_list', { name: 'web', writes: true }, 'created Deployment web');
  const failed = await ask('calls_list', { failed: true });
  expect(failed.text).toContain('409');
  const life = await ask('timeline', { kind: 'application', name: 'web' });
  expect(life.text).toContain('created Deployment web');
  expect((await ask('logs', { since: '5m' })).text).toContain('Created Deployment web');
  expect((await ask('rbac')).text).toContain('All that was called is allowed');
  const saved = ['reviews', 'save', 'bad', id];
  await promisify(execFile)(process.execPath, [BIN, ...saved], { cwd, env });
  expect((await ask('reviews_verify', { set: 'bad' })).error).toMatchObject({ code: 'port.in-use' });

  expect((await ask('stop')).error).toBeUndefined();
  await expect(kubectl('get', 'namespaces')).rejects.toThrow('refused');
  expect((await ask('reviews_list')).error).toMatchObject({ code: 'session.not-found' });
  const verified = await ask('reviews_verify', { set: 'bad' });
  expect(verified.error, verified.text).toMatchObject({ code: 'review.changed' });
  const left = async () => (await readdir(join(state, 'devloop'))).filter((name) => !name.startsWith('.'));
  expect(await left()).toEqual([]);

  // Nothing is left of a session either if the server is killed.
  const again = await ask('start', { seconds: 1 });
  expect(again.text).toContain('still starting');
  await expect.poll(left, { timeout: 30_000 }).not.toEqual([]);
  process.kill(transport.pid!, 'SIGKILL');
  await expect.poll(left, { timeout: 30_000 }).toEqual([]);
});
