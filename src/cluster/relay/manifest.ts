/** The objects of the relay: a Pod that every namespace admits, and a Secret with the program that it runs. */

import type { KubeObject, Secret, Service } from '../api/objects.ts';
import type { Placement, Pod, Workload } from '../api/workloads.ts';
import {
  NO_SIDECAR,
  RELAY_NAME,
  relayLabels,
  relayPodName,
  relaySecretRef,
  SESSION_LABEL,
} from '../names.ts';

/** A stock image that contains Node, by its full name, since some container runtimes do not resolve short names. */
export const RELAY_IMAGE = 'docker.io/library/node:24-alpine';
export const RELAY_CONTAINER = 'relay';

const DIRECTORY = '/relay';
/** By default, V8 lets the garbage of short-lived connections grow to 200 MB before a collection; these flags limit it to 90 MB. */
const SMALL_HEAP = ['--max-semi-space-size=2', '--max-old-space-size=64'];
/** The uid of the user `nonroot` in distroless images. The program needs no entry in /etc/passwd. */
const UID = 65_532;
const LISTEN_LIMIT_MS = 20_000;
/** This is longer than the program waits for open reviews after a SIGTERM. */
const GRACE_SECONDS = 15;
const FIRST_UNPRIVILEGED_PORT = 1024;

/** A port on which kube-apiserver calls the relay. */
export interface RelayPort {
  /** The Service's targetPort, if that is a name. */
  name?: string;
  port: number;
}

export interface RelaySpec {
  namespace: string;
  image: string;
  /** The relay program: one CommonJS file for Node 20 or later. It is run with the path of the configuration as its argument. */
  program: string;
  /** The configuration, in JSON. It contains the relay's private key, so it is in a Secret, together with the program. */
  config: string;
  /** The control port on 127.0.0.1 in the Pod. The Pod is ready once something listens there. */
  controlPort: number;
  /** The port on the Pod's address at which the API server's proxy can switch to `protocol`. */
  proxyPort: number;
  protocol: string;
  ports: RelayPort[];
  placement?: Placement;
}

/** Uses one Secret instead of a ConfigMap and a Secret: the configuration has to be secret, and one object needs fewer permissions. */
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
 * The relay's Pod. It passes Pod Security `restricted`. The kubelet never restarts it: the program exits when no client has been connected
 * for a while, and the session replaces a Pod that it still needs. It has no deadline, which would end the relay of a long session.
 * `runAsUser` is false on OpenShift, which assigns user ids itself. The Secret owns the Pod, so that Kubernetes deletes a Pod that is
 * created after the session was restored.
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
      terminationGracePeriodSeconds: GRACE_SECONDS,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // The program resolves no names.
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
    // Quotas may require both requests and limits.
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
 * Delays the container's start, and so the Pod's readiness, until the program listens. This is half a second faster than a readiness probe,
 * which the kubelet runs once a second. A probe of a webhook port would also open a connection to this machine every second. The script
 * connects to the control port, because the program opens the webhook ports only for its client.
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

/** A user other than root gets no capability for low ports, but this sysctl, which Kubernetes counts as safe, allows them. */
function sysctls(ports: RelayPort[]): object {
  if (!ports.some(({ port }) => port < FIRST_UNPRIVILEGED_PORT)) return {};
  return { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] };
}

function ourLabels(sessionId: string): Record<string, string> {
  return { [SESSION_LABEL]: sessionId, 'app.kubernetes.io/name': RELAY_NAME };
}

/** OpenShift assigns a range of user ids to each namespace, and rejects a Pod that names a user id outside that range. */
export function assignsUserIds(namespace: KubeObject | undefined): boolean {
  return namespace?.metadata.annotations?.['openshift.io/sa.scc.uid-range'] !== undefined;
}

/**
 * The relay uses the node selector and the tolerations of the manager's Pods, so it runs on nodes whose firewall admits kube-apiserver. It
 * also uses their pull secrets, since a `--relay-image` is likely to come from the same registry. Affinities, priority and ServiceAccount
 * are not needed.
 */
export function placementOf(workload: Workload | undefined): Placement {
  const { nodeSelector, tolerations, imagePullSecrets } = workload?.spec.template.spec ?? {};
  return {
    ...(nodeSelector ? { nodeSelector } : {}),
    ...(tolerations ? { tolerations } : {}),
    ...(imagePullSecrets ? { imagePullSecrets } : {}),
  };
}

/** The Pod's ports for these Services, each with the name by which a Service refers to it. */
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
