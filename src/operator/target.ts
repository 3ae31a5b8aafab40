import { isWorkload, type ObjectRef, refOf, type WorkloadKind } from '../cluster/api/kinds.ts';
import type { Labels } from '../cluster/api/labels.ts';
import type { Service, ServicePort } from '../cluster/api/objects.ts';
import type { Container, Workload } from '../cluster/api/workloads.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { describe } from '../report/object-name.ts';
import type { ServedApi } from './served-apis.ts';
import { callersOf, isMade, type WebhookCall, type WebhookService } from './webhooks.ts';
import { servicePort, targetPortOf } from './workload.ts';

/** What the user named; everything else is discovered. */
export interface TargetNames {
  /** The Services, each as `[namespace/]name`. */
  services: string[];
  /** `[namespace/]name` of a Deployment, StatefulSet or DaemonSet. */
  deployment?: string;
  /** All workloads that are taken over, each in a session of its own; absent if there is only one. */
  deployments?: string[];
  /** The Deployments to pause besides the manager, each as `namespace/name`. `file`: the file that names them, if the user does not. `nothingElse`: without asking about any other. */
  alsoPause?: { named: string[]; file?: string; nothingElse: boolean } | undefined;
  namespace?: string;
}

/** Splits `[namespace/]name`. */
export function splitName(text: string, defaultNamespace: string): { namespace: string; name: string } {
  const slash = text.indexOf('/');
  return slash < 0
    ? { namespace: defaultNamespace, name: text }
    : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** The part of an operator that one session takes over: the webhook Services of one manager, and what the manager runs in. */
export interface Target {
  services: TargetService[];
  /** Absent if none was found: then nothing is paused. */
  manager?: TargetManager;
  /** The APIs that the manager's Pods serve. */
  apis?: ServedApi[];
  /** The Deployments to pause besides the manager. The user has to agree to each. */
  reconcilers?: Reconciler[];
  namespace: string;
}

export interface TargetService {
  service: Service;
  /** `<service>.<namespace>.svc`: the name that kube-apiserver verifies, and sends as SNI. */
  serverName: string;
  calls: WebhookCall[];
  /** The ports that webhooks call; `name` is '' for a port without one, `targetPort` the number in the Pod. */
  ports: { name: string; port: number; targetPort: number }[];
  /** How the Service was found, for display. */
  source: string;
}

/** The in-cluster manager. It is paused while the controller runs here with its arguments and environment. */
export interface TargetManager {
  /** A Deployment, StatefulSet or DaemonSet; or one of the Pods, if they belong to something else. */
  ref: ObjectRef;
  object: Workload;
  /** The labels of one of its Pods, if a Service selects by labels that the template does not have. */
  podLabels?: Labels;
  /** The owner of the Pods, if devloop cannot pause it: `Job shop/migrate`; absent for a Pod without an owner. */
  owner?: string;
  /** The container that the manager runs in. */
  container: Container;
  /** How the manager was found, for display. */
  source: string;
}

/** A Deployment that creates a webhook server, and would overwrite what devloop changes in it. It is paused as long as a session runs. */
export interface Reconciler {
  ref: ObjectRef;
  object: Workload;
  /** Why it is thought to do that; absent if only the user says so. */
  evidence?: Evidence;
  /** Whether the user named it. Anybody who can write to `wrote` can forge the evidence, so without that it only decides whom to ask about. */
  isNamed?: true;
  /** The file that names it. Anybody who can write to the checkout can have written that. */
  namedIn?: string;
}

/** What a Deployment seems to have written, and the name by which managedFields calls the writer. */
export interface Evidence {
  wrote: ObjectRef;
  writer: string;
}

/** The port numbers in the Pod that webhooks call, each once. */
export function targetPorts(services: Pick<TargetService, 'ports'>[]): number[] {
  return [...new Set(services.flatMap(({ ports }) => ports.map(({ targetPort }) => targetPort)))];
}

/** A webhook Service as it was chosen and read, before its ports are resolved. */
export interface ChosenService {
  webhooks: WebhookService;
  service: Service;
  source: string;
}

/** Receives the error for a port that cannot be used. If it returns, the Service is taken over without that port. */
export type OnUnusablePort = (error: DevloopError, service: Service) => void;

export function targetService(
  { webhooks, service, source }: ChosenService,
  manager: TargetManager | undefined,
  onUnusablePort: OnUnusablePort,
): TargetService {
  const calls = webhooks.calls.filter(isMade);
  const called = [...new Set(calls.map((call) => call.port))];
  const numbers =
    called.length > 0 ? called : (service.spec.ports ?? []).slice(0, 1).map((port) => port.port);
  const { namespace = '', name } = service.metadata;
  const ports = numbers.flatMap((number) => {
    const port = servicePort(service, number);
    const targetPort = port && targetPortOf(port, manager?.object);
    if (port !== undefined && targetPort !== undefined)
      return [{ name: port.name ?? '', port: number, targetPort }];
    const error = port ? undeclaredPort(service, port, manager) : missingPort(service, number, calls);
    onUnusablePort(error, service);
    return [];
  });
  return { service, serverName: `${name}.${namespace}.svc`, calls, ports, source };
}

function missingPort({ metadata }: Service, number: number, calls: WebhookCall[]): DevloopError {
  const { namespace, name } = metadata;
  const caller = calls.find((call) => call.port === number)!.from;
  return new DevloopError(
    'service.unsupported',
    `Service ${namespace}/${name} has no port ${number}, but ${describe(caller)} calls that port.`,
    { hint: `kubectl -n ${shellWord(namespace)} get service ${shellWord(name)} -o yaml` },
  );
}

function undeclaredPort(
  { metadata }: Service,
  port: ServicePort,
  manager: TargetManager | undefined,
): DevloopError {
  const where = manager ? `${manager.ref.kind} ${manager.ref.name}` : 'any Deployment';
  return new DevloopError(
    'service.unsupported',
    `Port ${port.port} of Service ${metadata.namespace}/${metadata.name} has the targetPort "${port.targetPort}", which no container of ${where} declares.`,
    { hint: `Declare the port in the Deployment, or name another one: ${AGAIN} --deployment NAMESPACE/NAME` },
  );
}

export function reportTarget({ services, manager }: Target, emit: Emit): void {
  for (const service of services) reportService(service, emit);
  if (manager === undefined) return;
  reportContainer(manager, emit);
  const { kind, namespace, name } = manager.ref;
  const what = isWorkload(kind) ? (kind.toLowerCase() as Lowercase<WorkloadKind>) : 'pod';
  emit({ type: 'discovered', what, value: `${namespace}/${name}`, source: manager.source });
}

/** Reports the other containers, because a Pod is paused as a whole. */
function reportContainer({ object, container }: TargetManager, emit: Emit): void {
  const others = object.spec.template.spec.containers
    .map(({ name }) => name)
    .filter((name) => name !== container.name);
  if (others.length === 0) return;
  const values = { container: container.name, others };
  emit(notice('manager.other-containers', values));
}

function reportService({ service, calls, ports, source }: TargetService, emit: Emit): void {
  const value = `${service.metadata.namespace}/${service.metadata.name}`;
  emit({ type: 'discovered', what: 'service', value, source });
  if (calls.length > 0) {
    const count = calls.length === 1 ? '1 call' : `${calls.length} calls`;
    const callers = callersOf(calls).map(describe).join(', ');
    emit({ type: 'discovered', what: 'webhooks', value: count, source: callers });
  }
  const others = (service.spec.ports ?? []).filter((port) => !ports.some((one) => one.port === port.port));
  if (others.length === 0) return;
  const values = {
    service: refOf('Service', service.metadata),
    ports: others.map((port) => port.name ?? port.port),
  };
  emit(notice('service.other-ports', values));
}
