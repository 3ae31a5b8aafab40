import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { busyPortsIn } from '../../../src/local/apply-rules.ts';
import { planController } from '../../../src/local/plan.ts';
import { openSettings } from '../../../src/local/settings.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { freePort } from '../../support/free-port.ts';
import { controllerOf } from '../../support/settings.ts';
import { inputs } from './support/inputs.ts';
import { madeLocal } from './support/made-local.ts';

async function busyPort(): Promise<number> {
  const server = createServer().listen(0);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test.each([
  ['probes-bind-address: :8081 # of probes', 'probes-bind-address: :0 # of probes'],
  ['health: {healthProbeBindAddress: ":8081"}', 'health: {healthProbeBindAddress: ":0"}'],
  ['metrics:\n  bindAddress: 127.0.0.1:8081\n', 'metrics:\n  bindAddress: 127.0.0.1:0\n'],
  ['metrics:\n  port: 8081\n', 'metrics:\n  port: 0\n'],
  ['metrics-exporter-bind-address: ":8081"', 'metrics-exporter-bind-address: ":0"'],
  ['{"metricsPort": "8081"}', '{"metricsPort": "0"}'],
  ['# of Java\nhealth.address=127.0.0.1:8081\n', '# of Java\nhealth.address=127.0.0.1:0\n'],
  ['[metrics]\nlisten_addr = "0.0.0.0:8081"\n', '[metrics]\nlisten_addr = "0.0.0.0:0"\n'],
])('a port that is in use is another one in the local copy of a file: %s', async (text, expected) => {
  const made = await madeLocal({ text }, { busyPorts: [8081] });
  expect(made.text).toBe(expected);
  expect(made.events).toMatchObject([
    { code: 'setting.changed', values: { place: 'file', because: expect.stringContaining('8081') } },
  ]);
});

test.each([
  ['a port that is free', 'health-port: 8082'],
  ['that of the webhooks', 'webhook: {port: 8081}'],
  ['an address elsewhere', 'metrics-address: metrics.example.com:8081'],
  ['a Service', 'metrics: {service: {port: 8081}}'],
  ['a probe of a Pod', 'readinessProbe: {httpGet: {port: 8081}}'],
  ['a line of text', 'the health port is 8081'],
])('%s stays', async (_, text) => {
  expect((await madeLocal({ text }, { busyPorts: [8081] })).text).toBe(text);
});

test('of the ports in files, those that are in use are found', async () => {
  const [busy, free] = [await busyPort(), await freePort()];
  const files = new Map([
    ['a', `metrics-port: ${busy}\n`],
    ['b', `health-port: ${free}\n`],
  ]);
  const settings = openSettings(
    { args: [], variables: {}, files },
    { secrets: new Set(), commandNames: new Set() },
  );
  expect(await busyPortsIn(settings.read())).toEqual([busy]);
});

test('a variable with a port that is in use gets any port', async () => {
  const [busy, free] = [8081, 8082];
  const variables = {
    SHOP_METRICS_ADDR: `:${busy}`,
    HEALTH_PROBE_BIND_ADDRESS: `:${free}`,
    PPROF_PORT: String(busy),
    PORT: String(busy),
    METRICS_GATEWAY_ADDRESS: `:${busy}`,
  };
  expect((await madeLocal({ variables }, { busyPorts: [busy] })).variables).toEqual({
    ...variables,
    SHOP_METRICS_ADDR: ':0',
    PPROF_PORT: '0',
  });
});

test('the controller gets the variable with any port, and a note says so', async () => {
  const busy = await busyPort();
  const all = inputs({ settings: controllerOf({ run: ['./run'] }) });
  all.target.manager!.container.env = [{ name: 'SHOP_METRICS_ADDR', value: `:${busy}` }];
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  expect((await planController(all, io)).plan.env).toMatchObject({ SHOP_METRICS_ADDR: ':0' });
  const values = { setting: 'SHOP_METRICS_ADDR', before: `:${busy}`, after: ':0' };
  expect(events).toContainEqual(expect.objectContaining({ values: expect.objectContaining(values) }));
});
