import { sleep } from '../../async.ts';
import { refOf } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { createMarked } from '../../cluster/marks/change.ts';
import { routingServiceName, SESSION_LABEL } from '../../cluster/names.ts';
import { createProber } from '../../cluster/takeover/probe.ts';
import type { Work } from '../../cluster/work.ts';
import { newSessionId } from '../context/session-directories.ts';
import { PROBE_LANGUAGE } from '../route/probe-until.ts';
import type { Check, Finding } from './check.ts';
import { probeTarget } from './routes.ts';

const PAUSE_MS = 50;
const OBSERVE_MS = 20_000;

/** Does kube-apiserver call webhooks at their endpoints (`--enable-aggregator-routing`), or at the Service's ClusterIP? */
export const endpointRoutingCheck: Check = {
  name: 'endpoint routing',
  limitSeconds: 60,
  optional: true,
  async run(run, signal) {
    const target = await probeTarget(run);
    const namespace = target.services[0]!.service.metadata.namespace!;
    return endpointRoutingFinding(
      await observe(
        { api: (await run.context).api, sessionId: newSessionId(), emit: () => {}, signal },
        namespace,
      ),
    );
  },
};

/**
 * kube-apiserver's error for a webhook behind a headless Service without endpoints. kube-apiserver never dials: its resolver for ClusterIPs
 * refuses the Service, and the resolver for endpoints finds none, so the text of the error shows which of the two it uses.
 */
async function observe(work: Work, namespace: string): Promise<string> {
  const { api, sessionId, signal } = work;
  const service = headless(sessionId, namespace);
  const ref = refOf('Service', service.metadata);
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await api.remove(ref)));
  await createMarked<Service>(work, ref, service);
  const target = { namespace, service: ref.name, port: 443, caBundle: '' };
  const prober = stack.use(await createProber(target).apply(work, PROBE_LANGUAGE));
  const deadline = performance.now() + OBSERVE_MS;
  let cause = '';
  while (performance.now() < deadline) {
    signal.throwIfAborted();
    const answer = await prober.once();
    cause = answer.reached ? 'something answered' : answer.cause;
    if (routingOf(cause) !== undefined) return cause;
    await sleep(PAUSE_MS);
  }
  return cause;
}

function headless(sessionId: string, namespace: string): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: routingServiceName(sessionId), namespace, labels: { [SESSION_LABEL]: sessionId } },
    spec: { clusterIP: 'None', ports: [{ port: 443, targetPort: 443, protocol: 'TCP' }] },
  };
}

/**
 * What kube-apiserver's error shows about its routing; undefined if it shows nothing. Older versions of kube-apiserver name the Endpoints
 * object that they did not find.
 */
export function routingOf(cause: string): 'endpoints' | 'clusterIP' | undefined {
  if (cause.includes('cannot route to service with ClusterIP "None"')) return 'clusterIP';
  if (/no endpoints available for service|endpoints "[^"]*" not found/.test(cause)) return 'endpoints';
  return undefined;
}

export function endpointRoutingFinding(cause: string): Finding {
  const proof = [`kube-apiserver's error for a headless Service:\n${cause}`];
  switch (routingOf(cause)) {
    case 'clusterIP':
      return {
        verdict: 'ok',
        answer: 'off: kube-apiserver calls the ClusterIP of a Service',
        proof,
      };
    case 'endpoints':
      return {
        verdict: 'ok',
        answer:
          'on: kube-apiserver dials endpoints itself, so a firewall around it must allow connections to the port of the gateway',
        proof,
      };
    default:
      return { verdict: 'unknown', answer: "cannot tell from kube-apiserver's error", proof };
  }
}
