/** The objects of the relay: a Pod that any namespace admits, and a Secret with the program that it runs. Pure. */

import type { Deployment, KubeObject, Placement, Pod, Secret, Service } from '../api/objects.ts';
import { RELAY_NAME, relayLabels, relayPodName, relaySecretRef, SESSION_LABEL } from '../names.ts';

/** A stock image with Node in it, fully written: some container runtimes know no short names. */
export const RELAY_IMAGE = 'docker.io/library/node:24-alpine';
export const RELAY_CONTAINER = 'relay';

const DIRECTORY = '/relay';
/** Left to itself, V8 lets 200 MB of short-lived connections lie around before it looks for them; with these it is 90. */
const SMALL_HEAP = ['--max-semi-space-size=2', '--max-old-space-size=64'];
/** Of nobody: `nonroot` in distroless images. The program needs no entry in /etc/passwd. */
const UID = 65_532;
/** Nothing is left to relay after a day without a look at the Pod: the last resort against forgotten ones. */
const DAY_SECONDS = 24 * 3600;
const LISTEN_LIMIT_MS = 20_000;
/** Longer than the program lets reviews under way take when it is told to end. */
const GRACE_SECONDS = 15;
const FIRST_UNPRIVILEGED_PORT = 1024;

/** A mesh's proxy in the Pod would ask kube-apiserver for a certificate that it does not have. */
const NO_SIDECAR = {
  labels: { 'sidecar.istio.io/inject': 'false' },
  annotations: { 'sidecar.istio.io/inject': 'false', 'linkerd.io/inject': 'disabled' },
};

/** A port on which kube-apiserver calls the relay. */
export interface RelayPort {
  /** What a Service calls its targetPort, where it has a name. */
  name?: string;
  port: number;
}

export interface RelaySpec {
  namespace: string;
  image: string;
  /** One CommonJS file for Node 20 or later; run with the path of the configuration as its argument. */
  program: string;
  /** JSON. Holds the relay's private key, so it lies in a Secret, and the program beside it. */
  config: string;
  /** On 127.0.0.1 in the Pod. The Pod is ready when something listens there. */
  controlPort: number;
  /** On the Pod's address, where the API server's proxy may switch to this protocol. */
  proxyPort: number;
  protocol: string;
  ports: RelayPort[];
  placement?: Placement | undefined;
}

/**
 * One Secret instead of a ConfigMap and a Secret: the configuration has to be secret, and one object is one permission and one
 * write less.
 */
export function relaySecret(spec: RelaySpec, sessionId: string): Secret & object {
  const { namespace, name } = relaySecretRef(spec.namespace, sessionId);
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, namespace: namespace!, labels: ourLabels(sessionId) },
    data: { 'relay.cjs': encode(spec.program), 'relay.json': encode(spec.config) },
  };
}

/**
 * Passes Pod Security `restricted`. Never restarted by the kubelet: the program ends when nobody uses it, and has to stay ended;
 * while somebody does, the session replaces a Pod that is gone. The user id is left to OpenShift, which gives each namespace its own.
 * It belongs to the Secret: one that comes into being when that is gone, since the session was put back, is taken away by Kubernetes.
 */
export function relayPod(
  spec: RelaySpec,
  sessionId: string,
  { secret, suffix, runAsUser }: { secret: KubeObject; suffix: string; runAsUser: boolean },
): Pod & object {
  const { name } = secret.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: relayPodName(sessionId, suffix),
      namespace: spec.namespace,
      labels: { ...ourLabels(sessionId), ...relayLabels(sessionId), ...NO_SIDECAR.labels },
      annotations: NO_SIDECAR.annotations,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name, uid: secret.metadata.uid! }],
    },
    spec: {
      ...spec.placement,
      restartPolicy: 'Never',
      activeDeadlineSeconds: DAY_SECONDS,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // It looks up no names.
      dnsPolicy: 'Default',
      securityContext: {
        runAsNonRoot: true,
        ...(runAsUser ? { runAsUser: UID, runAsGroup: UID } : {}),
        seccompProfile: { type: 'RuntimeDefault' },
        ...sysctls(spec.ports),
      },
      containers: [container(spec)],
      volumes: [{ name: 'program', secret: { secretName: name } }],
    } as Pod['spec'] & object,
  };
}

function container({ image, ports, controlPort }: RelaySpec): object {
  return {
    name: RELAY_CONTAINER,
    image,
    imagePullPolicy: 'IfNotPresent',
    command: ['node', ...SMALL_HEAP, `${DIRECTORY}/relay.cjs`, `${DIRECTORY}/relay.json`],
    ports: ports.map(({ name, port }) => ({
      ...(name ? { name } : {}),
      containerPort: port,
      protocol: 'TCP',
    })),
    // Limits as well as requests, since quotas may demand both.
    resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { cpu: '500m', memory: '256Mi' } },
    lifecycle: { postStart: untilListening(controlPort) },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [{ name: 'program', mountPath: DIRECTORY, readOnly: true }],
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

/**
 * Keeps the Pod from counting as started before the program listens, and so as ready: once, half a second sooner than a probe,
 * which the kubelet runs by the second, and without the connection a second that a readiness probe on a webhook port would send
 * us. Not on a webhook port, since the program opens those for its client.
 */
function untilListening(port: number): object {
  const script = `
    const late = setTimeout(() => { throw new Error('nothing listens on 127.0.0.1:${port}') }, ${LISTEN_LIMIT_MS});
    const call = () => {
      const socket = require('node:net').connect(${port}, '127.0.0.1');
      socket.on('connect', () => { clearTimeout(late); socket.destroy(); });
      socket.on('error', () => setTimeout(call, 20));
    };
    call();`;
  return { exec: { command: ['node', '-e', script] } };
}

/** Without a capability, which a user other than root would not get, low ports need this one of the sysctls called safe. */
function sysctls(ports: RelayPort[]): object {
  if (!ports.some(({ port }) => port < FIRST_UNPRIVILEGED_PORT)) return {};
  return { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] };
}

function ourLabels(sessionId: string): Record<string, string> {
  return { [SESSION_LABEL]: sessionId, 'app.kubernetes.io/name': RELAY_NAME };
}

/** OpenShift gives each namespace its own range of user ids, and refuses a Pod that names another. */
export function assignsUserIds(namespace: KubeObject | undefined): boolean {
  return namespace?.metadata.annotations?.['openshift.io/sa.scc.uid-range'] !== undefined;
}

/**
 * What the relay needs of the manager's Pods to run where they do: nodes whose firewall lets kube-apiserver in, taints of all
 * nodes that this namespace gets, and the pull secrets of a registry that a `--relay-image` is likely to share. Affinities,
 * priorities and accounts are the manager's own business.
 */
export function placementOf(deployment: Deployment | undefined): Placement {
  const { nodeSelector, tolerations, imagePullSecrets } = deployment?.spec.template.spec ?? {};
  return {
    ...(nodeSelector ? { nodeSelector } : {}),
    ...(tolerations ? { tolerations } : {}),
    ...(imagePullSecrets ? { imagePullSecrets } : {}),
  };
}

/** The ports of these Services in the Pod: the number of each, and the name by which a Service looks it up. */
export function relayPorts(
  services: { service: Service; ports: { port: number; targetPort: number }[] }[],
): RelayPort[] {
  const found = new Map<string, RelayPort>();
  for (const { service, ports } of services) {
    for (const { port, targetPort } of ports) {
      const target = service.spec.ports?.find((one) => one.port === port)?.targetPort;
      const name = typeof target === 'string' ? target : undefined;
      found.set(name ?? String(targetPort), { ...(name === undefined ? {} : { name }), port: targetPort });
    }
  }
  return [...found.values()];
}
