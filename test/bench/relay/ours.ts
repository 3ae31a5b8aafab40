/**
 * The relay route as a process of its own, so that its memory can be measured. Prints `dialled` for each port-forward, `ready <pod>` when
 * the route is open, and each event after the word `event`.
 */
import { readFile } from 'node:fs/promises';
import { connect } from '../../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { RELAY_IMAGE } from '../../../src/cluster/relay/manifest.ts';
import { keepRelay } from '../../../src/cluster/relay/watch.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { relayRoute } from '../../../src/route/relay/relay.ts';
import { PROTOCOL, relayConfig } from '../../../src/route/relay/wire/config.ts';
import { makeRelayKeys } from '../../../src/route/relay/wire/keys.ts';

const [CONTROL_PORT, PROXY_PORT] = [17_717, 17_718];

const [kubeconfig, namespace, session, program, ...pairs] = process.argv.slice(2);
const ports = new Map(pairs.map((pair) => pair.split(':').map(Number) as [gateway: number, pod: number]));
const signal = new AbortController().signal;
const emit = (event: DevloopEvent): void => console.log(`event ${JSON.stringify(event)}`);
const api = await connect(await loadKubeconfig({ kubeconfig }, {}, '/'));
const keys = makeRelayKeys();
const numbers = [...ports.values()];
const relay = await keepRelay(namespace!).apply(
  { api, sessionId: session!, emit, signal },
  {
    namespace: namespace!,
    image: RELAY_IMAGE,
    program: await readFile(program!, 'utf8'),
    config: JSON.stringify(
      relayConfig({ controlPort: CONTROL_PORT, proxyPort: PROXY_PORT, ports: numbers, keys }),
    ),
    controlPort: CONTROL_PORT,
    proxyPort: PROXY_PORT,
    protocol: PROTOCOL,
    ports: numbers.map((port) => ({ port })),
  },
);
await relayRoute({
  pod: { namespace: namespace!, name: relay.pod },
  pods: relay.labels,
  ports,
  async dial(limit) {
    const stream = await relay.dial(limit);
    console.log('dialled');
    return stream;
  },
  keys,
  emit,
  signal,
});
console.log(`ready ${relay.pod}`);
