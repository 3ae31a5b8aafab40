import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { webhookSwitches } from '../../../src/session/verify/webhook-switches.ts';
import { verifySet } from '../../../src/session/verify.ts';
import { freePort } from '../../support/free-port.ts';
import { reviewOf } from '../../support/session-facts.ts';
import { directoryWith } from '../controller/support/places.ts';

const READS = (...names: string[]) =>
  `package main\n${names.map((name) => `var _ = os.Getenv("${name}")`).join('\n')}\n`;

const deployment = (env: string) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec: {template: {spec: {containers: [{name: manager, env: [${env}]}]}}}
`;

it('the variables that switch webhooks on are read from Deployments and patches', async () => {
  const checkout = await directoryWith({
    'main.go': READS('ENABLE_WEBHOOKS', 'APP_WEBHOOK_ENABLED'),
    'config/manager/manager.yaml': deployment('{name: APP_WEBHOOK_ENABLED, value: "1"}'),
    'config/default/patch.yaml':
      '- op: add\n  path: /spec/template/spec/containers/0/env/-\n  value: {name: ENABLE_WEBHOOKS, value: "true"}\n',
  });
  expect(await webhookSwitches(new Checkout(checkout))).toEqual({
    ENABLE_WEBHOOKS: 'true',
    APP_WEBHOOK_ENABLED: '1',
  });
});

it('a variant of the manifests that switches webhooks off is not used', async () => {
  const checkout = await directoryWith({
    'main.go': READS('ENABLE_WEBHOOKS'),
    'config/a/manager.yaml': deployment('{name: ENABLE_WEBHOOKS, value: "true"}'),
    'config/b/manager.yaml': deployment('{name: ENABLE_WEBHOOKS, value: "false"}'),
  });
  expect(await webhookSwitches(new Checkout(checkout))).toEqual({ ENABLE_WEBHOOKS: 'true' });
});

it('variables that are no switches, switch webhooks off, or belong to another operator are left out', async () => {
  const names = ['WEBHOOK_PORT', 'DISABLE_WEBHOOKS', 'NO_WEBHOOKS', 'METRICS', 'ENABLE_WEBHOOKS'];
  const checkout = await directoryWith({
    'main.go': READS(...names),
    'config/manager.yaml': deployment(
      '{name: WEBHOOK_PORT, value: "9443"}, {name: DISABLE_WEBHOOKS, value: "true"}, {name: NO_WEBHOOKS, value: "true"}, {name: METRICS, value: "true"}, {name: OTHER_WEBHOOKS, value: "true"}, {name: ENABLE_WEBHOOKS, valueFrom: {}}',
    ),
    'charts/templates/manager.yaml': '{{- if .Values.on }}\n- name: ENABLE_WEBHOOKS\n  value: "true"\n',
  });
  expect(await webhookSwitches(new Checkout(checkout))).toEqual({});
});

const HOOK_SERVER = join(import.meta.dirname, '../../fixtures/e2e/hook-server.mjs');

/** The notes and the result of `verify` for a manager that answers with its ENABLE_WEBHOOKS. */
async function verified({ shell, answer }: { shell?: string; answer: string }) {
  const port = await freePort();
  const manager = `process.argv[2] = process.env.ENABLE_WEBHOOKS;\nawait import(${JSON.stringify(HOOK_SERVER)});\n`;
  const run = [process.execPath, 'manager.mjs', 'replaced', String(port)];
  const checkout = await directoryWith({
    'main.go': READS('ENABLE_WEBHOOKS'),
    'config/manager.yaml': deployment('{name: ENABLE_WEBHOOKS, value: "true"}'),
    'manager.mjs': manager,
    'devloop.yaml': JSON.stringify({ controller: { run } }),
    '.git/HEAD': '',
  });
  const message = `${answer} on ${port} says no`;
  const review = reviewOf(1, { path: '/validate', port, verdict: 'denied', message });
  const request = {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: { uid: 'u', object: {} },
  };
  const records = [
    { v: 1 as const, ...review, request, response: { response: { allowed: false, status: { message } } } },
  ];
  const events: DevloopEvent[] = [];
  const env = {
    ...process.env,
    XDG_STATE_HOME: join(checkout, 'state'),
    KUBEBUILDER_ASSETS: '',
    ENABLE_WEBHOOKS: shell,
  };
  const signal = new AbortController().signal;
  const io = {
    emit: (event: DevloopEvent) => void events.push(event),
    env,
    cwd: checkout,
    signal,
    onCluster: () => {},
  };
  await verifySet({ name: 'web', checkout, records, withSideEffects: false }, io);
  return {
    notes: events.filter(({ type }) => type === 'note'),
    last: events.at(-1),
  };
}

it('verify starts the manager with the switches of the manifests', async () => {
  const { notes, last } = await verified({ answer: 'true' });
  const values = { variable: 'ENABLE_WEBHOOKS', value: 'true' };
  expect(notes).toContainEqual(expect.objectContaining({ code: 'verify.switched-on', values }));
  expect(last).toMatchObject({ type: 'reviews.compared', replayed: 1, changed: 0 });
});

it("the switches of the user's shell take precedence", async () => {
  const { notes, last } = await verified({ shell: 'yes', answer: 'yes' });
  expect(notes).not.toContainEqual(expect.objectContaining({ code: 'verify.switched-on' }));
  expect(last).toMatchObject({ type: 'reviews.compared', replayed: 1, changed: 0 });
});
