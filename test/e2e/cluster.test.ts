import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accountOf } from '../../src/cluster/api/account.ts';
import { connect } from '../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import { builtInKinds, discoveryOf } from '../../src/session/verify/kinds.ts';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { type ClusterOptions, startCluster, stopCluster, type TestCluster } from '../cluster/cluster.ts';
import { NO_TRACES, traces } from '../cluster/traces.ts';
import { openProxy } from '../support/login/proxies.ts';
import { realLogins } from '../support/login/real-cluster.ts';

const log = (line: string) => console.error(line);
const manifests = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving}
spec: {secretName: serving, dnsNames: [hook.default.svc], issuerRef: {name: self}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: hook
  annotations: {cert-manager.io/inject-ca-from: default/serving}
webhooks:
- name: hook.devloop.test
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: hook, namespace: default}}
`;

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ log });
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

it('has a ready node at the address of the box', async () => {
  const path = '{.status.addresses[?(@.type=="InternalIP")].address} {.status.nodeInfo.kubeletVersion}';
  expect(await cluster.kubectl(['get', 'node', 'node', '-o', `jsonpath=${path}`])).toBe(
    `${cluster.nodeIp} v1.36.3`,
  );
});

it('serves the kinds that `reviews verify` names without a cluster, and lists them in the same way', async () => {
  type Documents = Record<string, { resources?: Record<string, unknown>[] }>;
  for (const [path, own] of Object.entries(discoveryOf(builtInKinds()) as Documents)) {
    if (own.resources === undefined) continue;
    const { resources = [] } = (await cluster.read(path)) as Documents[string];
    const listed = (all: Record<string, unknown>[]) =>
      all
        .filter(({ name }) => !String(name).includes('/'))
        .map(({ name, kind, namespaced, singularName }) => [name, kind, namespaced, singularName])
        .sort();
    expect(listed(own.resources), path).toEqual(listed(resources));
  }
});

it('runs a Pod from an image that was loaded, and executes in it', async () => {
  const { pause } = await ensureClusterBinaries({ log });
  await cluster.loadImage('devloop.test/own:1', pause);
  await cluster.kubectl(['run', 'own', '--image=devloop.test/own:1', '--command', '--', '/pause']);
  await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/own', '--timeout=30s']);
  expect(await cluster.kubectl(['logs', 'own'])).toBe('');
  await expect(cluster.kubectl(['exec', 'own', '--', '/absent'])).rejects.toThrow('no such file');
});

it('issues certificates and injects them into webhook configurations', async () => {
  await cluster.kubectl(['apply', '-f', '-'], { input: manifests });
  await cluster.kubectl(['wait', '--for=condition=Ready', 'certificate/serving', '--timeout=30s']);
  const certificate = await cluster.kubectl(['get', 'secret', 'serving', '-o', 'jsonpath={.data.ca\\.crt}']);
  expect(certificate).not.toBe('');
  const bundle = [
    'get',
    'validatingwebhookconfiguration',
    'hook',
    '-o',
    'jsonpath={.webhooks[0].clientConfig.caBundle}',
  ];
  await expect.poll(() => cluster.kubectl(bundle), { timeout: 10_000, interval: 100 }).toBe(certificate);
});

it('refuses users without rights, and admits their groups', async () => {
  const stranger = await cluster.kubeconfigFor('stranger');
  await expect(cluster.kubectl(['get', 'pods'], { kubeconfig: stranger })).rejects.toThrow(
    'User "stranger" cannot list resource "pods"',
  );
  const member = await cluster.kubeconfigFor('member', ['readers']);
  await cluster.kubectl(['create', 'clusterrolebinding', 'readers', '--clusterrole=view', '--group=readers']);
  await expect
    .poll(() => cluster.kubectl(['get', 'pods'], { kubeconfig: member }).catch(String), { timeout: 10_000 })
    .not.toContain('cannot list');
});

it('refuses an expired client certificate', async () => {
  const short = await cluster.kubeconfigFor('admin', ['system:masters'], { expiresInSeconds: 1 });
  await expect
    .poll(() => cluster.kubectl(['get', 'nodes'], { kubeconfig: short }).catch(String), { timeout: 10_000 })
    .toContain('must be logged in');
});

it('sees the same user in devloop as in kubectl, however they log in', async () => {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'real-logins-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const { hostname: host, port } = new URL(
    JSON.parse(readFileSync(cluster.kubeconfig, 'utf8')).clusters[0].cluster.server,
  );
  const proxy = stack.use(await openProxy({ kind: 'http' }, () => ({ host, port: Number(port) })));
  const users: Record<string, unknown> = {};
  const failed = 'failed';
  for (const [name, kubeconfig] of Object.entries(await realLogins(cluster, directory, proxy.port))) {
    const whoami = cluster.kubectl(['auth', 'whoami', '-o', 'json'], { kubeconfig });
    users[name] = await whoami.then(
      (text) => JSON.parse(text).status.userInfo,
      () => failed,
    );
    const account = async () => {
      await using api = await connect(await loadKubeconfig({ kubeconfig }, process.env, '/'));
      return await accountOf(api);
    };
    expect.soft(await account().catch(() => failed), name).toEqual(users[name]);
  }
  const without = Object.keys(users).filter((name) => users[name] === failed);
  expect(without).toEqual(['token in vain', 'no CA', 'a wrong name']);
  expect(users).toMatchObject({ 'impersonated groups': { username: 'jane', uid: '7' } });
  expect(new Set(proxy.asked).size).toBe(1);
});

it('dies with the process that started it; the next start clears its remains, runs beside another box, and leaves nothing behind', async () => {
  const dead = await startElsewhere({ pods: false });
  await expect.poll(() => traces(dead).processes, { timeout: 10_000 }).toEqual([]);
  const second = await startCluster({ log, certManager: false, name: 'second' });
  expect(traces(second.dir).processes).not.toEqual([]);
  expect(second.nodeIp).not.toBe(cluster.nodeIp);
  expect(await second.kubectl(['config', 'current-context'])).toBe('second\n');
  await second[Symbol.asyncDispose]();
  for (const dir of [dead, second.dir]) expect(traces(dir)).toEqual(NO_TRACES);
  expect(await cluster.kubectl(['get', 'node', '-o', 'name'])).toBe('node/node\n');
});

it('says which process died, and with which words', async () => {
  await using broken = await startCluster({ log, certManager: false, pods: false });
  const victim = traces(broken.dir).processes.find(({ command }) => command.includes('kube-controller'));
  process.kill(victim!.pid, 'SIGKILL');
  await expect.poll(() => traces(broken.dir).processes, { timeout: 10_000 }).toEqual([]);
  expect(readFileSync(`${broken.dir}/failed`, 'utf8')).toMatch('kube-controller-manager ended with code 137');
});

it('outlives the process that started it where asked, until it is stopped', async () => {
  const dir = await startElsewhere({ detached: true, pods: false });
  expect(traces(dir).processes).not.toEqual([]);
  await stopCluster(dir);
  expect(traces(dir)).toEqual(NO_TRACES);
});

/** Starts a cluster from another process, which is then killed. */
async function startElsewhere(options: ClusterOptions): Promise<string> {
  const url = new URL('../cluster/cluster.ts', import.meta.url);
  const script = `
    const { startCluster } = await import(${JSON.stringify(url)});
    const { dir } = await startCluster(${JSON.stringify({ ...options, certManager: false })});
    require('node:fs').writeSync(1, dir);
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawn(process.execPath, ['--eval', `(async () => {${script}})()`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const dir = Buffer.concat(await child.stdout.toArray()).toString();
  expect(await ended).toEqual([null, 'SIGKILL']);
  return dir;
}
