import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openApiProxy } from '../../../src/api-proxy/proxy.ts';
import { admitStarts } from '../../../src/session/start/starts.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { directoryWith } from '../controller/support/places.ts';

async function admitting({ controller = true } = {}) {
  const { api } = fakeCluster();
  const directory = await directoryWith({});
  const proxy = await openApiProxy({ upstream: api });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const session = { context: { api }, target: { namespace: 'shop' }, files: { directory } };
  const starts = admitStarts(proxy, { ...session, options: { controller } } as never);
  const { access, late } = starts;
  return { proxy, starts, path: () => access.directory.replace(late.standsFor, late.value()!) };
}

const tokenIn = (directory: string): string =>
  JSON.parse(readFileSync(join(directory, 'kubeconfig'), 'utf8')).users[0].user.token;

test('each start has files and a token of its own, which what waits to become the controller has, too', async () => {
  const { starts, path } = await admitting();
  const waiting = path();
  expect(path()).toBe(waiting);
  starts.begin();
  const second = path();
  expect(second).not.toBe(waiting);
  expect(tokenIn(second)).not.toBe(tokenIn(waiting));
  for (const directory of [waiting, second]) {
    const pod = (name: string): string => readFileSync(join(directory, 'pod', name), 'utf8');
    expect([pod('token'), pod('namespace')]).toEqual([tokenIn(directory), 'shop']);
    expect(pod('ca.crt')).toContain('BEGIN CERTIFICATE');
  }
});

test('a process that the user starts has its access as long as the session', async () => {
  const { starts, path } = await admitting({ controller: false });
  expect(starts.access.directory).toBe(path());
  expect(existsSync(join(path(), 'kubeconfig'))).toBe(true);
});
