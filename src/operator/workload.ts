import type { CheckoutFacts } from '../checkout/facts.ts';
import { type ObjectRef, relationsOf, WORKLOAD_KINDS } from '../cluster/api/kinds.ts';
import { hasLabels } from '../cluster/api/labels.ts';
import type { Service, ServicePort } from '../cluster/api/objects.ts';
import type { Container, Workload } from '../cluster/api/workloads.ts';
import { originalSelector } from '../cluster/marks/selector.ts';
import { imageName } from '../phrases.ts';

export interface FoundWorkload {
  ref: ObjectRef;
  object: Workload;
}

/** Whether a selector selects the Pods of a workload. */
export function isSelectedBy(workload: Workload, selector: Record<string, string>): boolean {
  const labels = workload.spec.template.metadata?.labels ?? {};
  const wanted = Object.entries(selector).filter(([key]) => key in labels || !OF_EACH_POD.has(key));
  return hasLabels(labels, Object.fromEntries(wanted));
}

/**
 * Labels that Kubernetes adds to each Pod and that no template has. A manager that creates its own Service may select all labels of its
 * Pod.
 */
const OF_EACH_POD = new Set(WORKLOAD_KINDS.flatMap((kind) => relationsOf(kind).podLabels));

/** Whether the Service selects the workload's Pods, or did before a session changed it. */
export function serves(service: Service, workload: Workload): boolean {
  return isSelectedBy(workload, originalSelector(service));
}

/** Whether one of the workload's images is named like the checkout, or like an image that the checkout builds. */
export function runsImage(
  workload: Workload,
  { names, images }: Pick<CheckoutFacts, 'names' | 'images'>,
): boolean {
  const own = workload.spec.template.spec.containers.map(({ image = '' }) => imageName(image));
  return own.some((image) => names.has(image) || images.has(image));
}

/** Matches the name, or the name of the image, of a container that runs beside a manager: a proxy, a reloader or a collector. */
const SIDECAR =
  /(?:^|-)(?:proxy|envoy|nginx|vault-agent|agent-init|(?:config|configmap)-?(?:map)?-?reload(?:er)?|reloader|fluent-?(?:bit|d)|filebeat|(?:otel|opentelemetry)-collector|otc-container|jaeger-agent|git-sync|k8s-sidecar)$/;
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/**
 * The manager's container: the one that declares the webhook's port, or that the template calls the default, or that has a usual name, or
 * the first that is not a known sidecar, such as kube-rbac-proxy in front of the metrics.
 */
export function managerContainer(workload: Workload, targetPorts: (number | string)[]): Container {
  const { metadata, spec } = workload.spec.template;
  const { containers } = spec;
  const declares = (container: Container): boolean =>
    (container.ports ?? []).some(
      (port) =>
        targetPorts.includes(port.containerPort) ||
        (port.name !== undefined && targetPorts.includes(port.name)),
    );
  const usual = ['manager', 'operator', metadata?.annotations?.[DEFAULT_CONTAINER]];
  const named = usual.map((name) => containers.find((container) => container.name === name));
  return (
    containers.find(declares) ??
    named.findLast((container) => container !== undefined) ??
    containers.find((container) => !isSidecar(container)) ??
    containers[0]!
  );
}

function isSidecar({ name, image = '' }: Container): boolean {
  return SIDECAR.test(name) || SIDECAR.test(imageName(image));
}

/** The number of a Service port in the Pod: a named targetPort is looked up in the Pod template. */
export function targetPortOf(port: ServicePort, workload: Workload | undefined): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === 'number') return target;
  const ports = workload?.spec.template.spec.containers.flatMap((container) => container.ports ?? []) ?? [];
  return ports.find((one) => one.name === target)?.containerPort;
}

export function servicePort(service: Service, port: number): ServicePort | undefined {
  return service.spec.ports?.find((one) => one.port === port);
}
