import type { ObjectRef } from '../cluster/api/kinds.ts';
import { hasLabels } from '../cluster/api/labels.ts';
import type { Container, Service, ServicePort, Workload } from '../cluster/api/objects.ts';

export interface FoundWorkload {
  ref: ObjectRef;
  object: Workload;
}

export function isSelectedBy(workload: Workload, selector: Record<string, string>): boolean {
  const labels = workload.spec.template.metadata?.labels ?? {};
  return hasLabels(labels, selector);
}

/** The manager's container: the one that declares the webhook's port, or has a usual name, or is the first. */
export function managerContainer(workload: Workload, targetPorts: (number | string)[]): Container {
  const { containers } = workload.spec.template.spec;
  const declares = (container: Container): boolean =>
    (container.ports ?? []).some(
      (port) =>
        targetPorts.includes(port.containerPort) ||
        (port.name !== undefined && targetPorts.includes(port.name)),
    );
  const named = containers.find((container) => container.name === 'manager' || container.name === 'operator');
  return containers.find(declares) ?? named ?? containers[0]!;
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
