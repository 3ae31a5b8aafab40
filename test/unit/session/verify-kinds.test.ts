import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { builtInKinds, definitionsIn, discoveryOf, kindsOf } from '../../../src/session/verify/kinds.ts';
import { startManager } from '../../../src/session/verify/manager.ts';
import { startNoCluster } from '../../../src/session/verify/no-cluster.ts';
import { verifySet } from '../../../src/session/verify.ts';
import { freePort } from '../../support/free-port.ts';
import { reviewOf } from '../../support/session-facts.ts';
import { settingsOf } from '../../support/settings.ts';
import { directoryWith } from '../controller/support/places.ts';

const HOOK_SERVER = join(import.meta.dirname, '../../fixtures/e2e/hook-server.mjs');

/** As a manager with an index or a cache for Jobs does: it looks their kind up, and serves only if it is known. */
const LOOKS_UP = `import { readFileSync } from 'node:fs';
const { clusters } = JSON.parse(readFileSync(process.env.KUBECONFIG, 'utf8'));
const found = await fetch(clusters[0].cluster.server + '/apis/batch/v1');
const { message, resources = [] } = await found.json();
if (!resources.some(({ kind, namespaced }) => kind === 'Job' && namespaced)) {
  console.log('unable to retrieve the complete list of server APIs: batch/v1: ' + message);
  process.exit(1);
}
await import(${JSON.stringify(HOOK_SERVER)});
`;

function ioOf(cwd: string, events: DevloopEvent[] = []) {
  const env = { ...process.env, XDG_STATE_HOME: join(cwd, 'state'), KUBEBUILDER_ASSETS: '' };
  const emit = (event: DevloopEvent): void => void events.push(event);
  return { emit, env, cwd, signal: new AbortController().signal, onCluster: () => {} };
}

it('a manager that looks up kinds before it serves is started again with them', async () => {
  const port = await freePort();
  const run = [process.execPath, 'manager.mjs', 'local', String(port)];
  const checkout = await directoryWith({
    'manager.mjs': LOOKS_UP,
    'devloop.yaml': JSON.stringify({ controller: { run } }),
    '.git/HEAD': '',
  });
  const request = {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: { uid: 'u', object: {} },
  };
  const response = { response: { allowed: false, status: { message: `local on ${port} says no` } } };
  const review = reviewOf(1, {
    path: '/validate',
    port,
    verdict: 'denied',
    message: `local on ${port} says no`,
  });
  const records: ReviewRecord[] = [{ v: 1, ...review, request, response }];
  const events: DevloopEvent[] = [];
  await verifySet({ name: 'web', checkout, records, withSideEffects: false }, ioOf(checkout, events));
  const notes = events.flatMap((event) => (event.type === 'note' ? [event.code] : []));
  expect(notes.filter((code) => code === 'verify.with-kinds')).toHaveLength(1);
  expect(events.filter(({ type }) => type === 'discovered')).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: 'reviews.compared', replayed: 1, changed: 0 });
});

it('a manager that never serves is reported with its last lines', async () => {
  const port = await freePort();
  const run = [process.execPath, '-e', "console.log('waiting for caches'); setInterval(() => {}, 1000)"];
  const checkout = await directoryWith({ '.git/HEAD': '' });
  await using server = await startNoCluster();
  const wanted = {
    checkout: new Checkout(checkout),
    settings: settingsOf({ controller: { run } }),
    webhooks: [{ path: '/', port }],
    readySeconds: 2,
  };
  await expect(startManager(wanted, server, ioOf(checkout))).rejects.toMatchObject({
    code: 'controller.not-ready',
    message: expect.stringMatching(/ 2 s\..*\n {2}waiting for caches$/),
  });
});

it('a manager that waits for its API server is not waited for as long, and its long lines are shortened', async () => {
  const port = await freePort();
  const asks = `
    const { clusters } = JSON.parse(require('node:fs').readFileSync(process.env.KUBECONFIG, 'utf8'));
    fetch(clusters[0].cluster.server + '/api/v1/secrets').then((one) => one.text()).then((text) => console.log(text.repeat(9)));
    console.log('k8s.io/client-go/tools/cache.(*controller).Run\\n\\t/go/pkg/mod/k8s.io/client-go/controller.go:72');
    setInterval(() => {}, 1000);`;
  const checkout = await directoryWith({ '.git/HEAD': '' });
  await using server = await startNoCluster();
  const wanted = {
    checkout: new Checkout(checkout),
    settings: settingsOf({ controller: { run: [process.execPath, '-e', asks] } }),
    webhooks: [{ path: '/', port }],
    readySeconds: 3,
  };
  await expect(startManager(wanted, server, ioOf(checkout))).rejects.toMatchObject({
    code: 'controller.not-ready',
    message: expect.stringMatching(/\n {2}\{.{200,300}…$/),
    hint: expect.stringContaining('--api-server KUBECONFIG'),
  });
});

it('the kinds of a checkout are the served versions of its complete CRDs', async () => {
  const yaml = (group: string, scope: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.${group}}
spec:
  group: ${group}
  scope: ${scope}
  names: {kind: Shop, plural: shops}
  versions: [{name: v1, served: true}, {name: v1alpha1, served: false}, {name: v2}]
`;
  const checkout = await directoryWith({
    'config/crd/shops.yaml': yaml('shop.example.com', 'Namespaced'),
    // Some CRDs of real operators are larger than 500 kB.
    'config/crd/all.yaml': `${yaml('all.example.com', 'Cluster')}${'# a description of a field\n'.repeat(25_000)}`,
    'config/crd/patch.yaml':
      'kind: CustomResourceDefinition\nmetadata: {name: shops.shop.example.com}\nspec: {conversion: {}}\n',
    'config/crd/empty.yaml': 'kind: CustomResourceDefinition\nmetadata: {name: x}\nspec: null\n',
    'charts/templates/crd.yaml': 'kind: CustomResourceDefinition\n{{- if .Values.crds }}\n',
  });
  const definitions = await definitionsIn(checkout);
  // A patch is not a CRD that could be installed.
  expect(definitions.map(({ metadata }) => metadata.name).sort()).toEqual([
    'shops.all.example.com',
    'shops.shop.example.com',
  ]);
  const kinds = definitions.flatMap(kindsOf);
  expect(kinds.map(({ group, version, isNamespaced }) => [group, version, isNamespaced]).sort()).toEqual([
    ['all.example.com', 'v1', false],
    ['all.example.com', 'v2', false],
    ['shop.example.com', 'v1', true],
    ['shop.example.com', 'v2', true],
  ]);
  expect(discoveryOf([...builtInKinds(), ...kinds])).toMatchObject({
    '/api/v1': {
      resources: expect.arrayContaining([expect.objectContaining({ kind: 'Pod', name: 'pods' })]),
    },
    '/apis': { groups: expect.arrayContaining([expect.objectContaining({ name: 'shop.example.com' })]) },
    '/apis/shop.example.com': { preferredVersion: { version: 'v1' } },
    '/apis/shop.example.com/v2': { resources: [{ kind: 'Shop', name: 'shops', namespaced: true }] },
  });
});
