import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import {
  busyPortsIn,
  fileOnFreePorts,
  type PortChange,
  variablesOnFreePorts,
} from '../../../src/local/busy-ports.ts';
import { planController } from '../../../src/local/plan.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { freePort } from '../../support/free-port.ts';
import { inputs } from './support/inputs.ts';

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
  ['{"metricsPort": "8081"}', '{"metricsPort": "0"}'],
  ['# of Java\nhealth.address=127.0.0.1:8081\n', '# of Java\nhealth.address=127.0.0.1:0\n'],
  ['[metrics]\nlisten_addr = "0.0.0.0:8081"\n', '[metrics]\nlisten_addr = "0.0.0.0:0"\n'],
])('a port that is in use is another one in the local copy of a file: %s', (text, expected) => {
  const changes: PortChange[] = [];
  expect(fileOnFreePorts(text, [8081], (change) => changes.push(change))).toBe(expected);
  expect(changes).toMatchObject([{ port: 8081 }]);
});

test.each([
  ['a port that is free', 'health-port: 8082'],
  ['that of the webhooks', 'webhook: {port: 8081}'],
  ['an address elsewhere', 'metrics-address: metrics.example.com:8081'],
  ['a Service', 'metrics: {service: {port: 8081}}'],
  ['a probe of a Pod', 'readinessProbe: {httpGet: {port: 8081}}'],
  ['a line of text', 'the health port is 8081'],
])('%s stays', (_, text) => {
  expect(fileOnFreePorts(text, [8081], () => {})).toBeUndefined();
});

test('of the ports in files, those that are in use are found', async () => {
  const [busy, free] = [await busyPort(), await freePort()];
  expect(await busyPortsIn([`metrics-port: ${busy}\n`, `health-port: ${free}\n`])).toEqual([busy]);
});

test('a variable with a port that is in use gets any port', async () => {
  const [busy, free] = [await busyPort(), await freePort()];
  const variables = {
    SHOP_METRICS_ADDR: `:${busy}`,
    HEALTH_PROBE_BIND_ADDRESS: `:${free}`,
    PPROF_PORT: String(busy),
    PORT: String(busy),
    METRICS_GATEWAY_ADDRESS: `:${busy}`,
  };
  const changes = await variablesOnFreePorts(variables);
  expect(changes.map(({ name, after }) => [name, after])).toEqual([
    ['SHOP_METRICS_ADDR', ':0'],
    ['PPROF_PORT', '0'],
  ]);
});

test('the controller gets the variable with any port, and a note says so', async () => {
  const busy = await busyPort();
  const all = inputs({ settings: { run: ['./run'] } });
  all.target.manager!.container.env = [{ name: 'SHOP_METRICS_ADDR', value: `:${busy}` }];
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal: new AbortController().signal };
  expect((await planController(all, io)).plan.env).toMatchObject({ SHOP_METRICS_ADDR: ':0' });
  expect(events).toContainEqual({ type: 'note', message: expect.stringContaining(`=:${busy}\nbecomes`) });
});
