import type { ClusterApi } from '../cluster/api/client.ts';
import type { ObjectRef } from '../cluster/api/kinds.ts';
import type { Service, ServicePort } from '../cluster/api/objects.ts';
import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { findDeployment, type TargetDeployment } from './discover-deployment.ts';
import { type Ranked, rank, unique, type WebhookService } from './match.ts';
import { listApiServices, servedApis } from './served-apis.ts';
import type { CheckoutFacts } from './sources.ts';
import { listCandidates } from './webhooks.ts';
import { isSelectedBy, originalSelector, servicePort, targetPortOf } from './workload.ts';

/** A webhook Service of the operator, with what calls it and where its ports lead in the Pod. */
export interface TargetService {
  service: Service;
  /** `<service>.<namespace>.svc`: the name that kube-apiserver verifies, and sends as SNI. */
  serverName: string;
  calls: WebhookService['calls'];
  /** Ports that webhooks call; `name` as the Service calls it, '' for none. */
  ports: { name: string; port: number; targetPort: number }[];
}

/** The operator that devloop stands in for. */
export interface Target {
  services: TargetService[];
  deployment?: TargetDeployment;
  namespace: string;
  evidence: string[];
}

export interface Wanted {
  /** `[namespace/]name` */
  services: string[];
  deployment?: string | undefined;
  namespace?: string | undefined;
}

/** Takes a Service whose ports cannot be right; one that returns leaves those ports out. */
export type Refuse = (error: DevloopError, service: Service) => void;

const atOnce: Refuse = (error) => {
  throw error;
};

/** The cluster is asked while the checkout is still being read. */
export async function discover(
  api: ClusterApi,
  wanted: Wanted,
  reading: CheckoutFacts | Promise<CheckoutFacts>,
  emit: Emit,
  refuse: Refuse = atOnce,
): Promise<Target> {
  const apiServices = listApiServices(api);
  // Asked for meanwhile: where the discovery fails first, nobody waits for it.
  apiServices.catch(() => {});
  const candidates = await listCandidates(api, reading);
  const hints = await reading;
  const chosen = await chooseCandidates(api, candidates, wanted, hints);
  const raw = await Promise.all(
    chosen.map(async (candidate) => ({ candidate, service: await readService(api, candidate) })),
  );
  const namespace = raw[0]?.service.metadata.namespace ?? wanted.namespace ?? api.namespace;
  const deployment = await findDeployment(api, raw, wanted, hints);
  const kept =
    wanted.services.length > 0 ? raw : raw.filter(({ service }) => leadsTo(service, deployment, emit));
  const services = kept.map(({ candidate, service }) =>
    targetService(candidate, service, deployment, refuse),
  );
  const target: Target = {
    services,
    ...(deployment ? { deployment } : {}),
    namespace: deployment?.object.metadata.namespace ?? namespace,
    evidence: unique(chosen.flatMap((one) => one.evidence)),
  };
  tell(target, wanted, emit);
  if (deployment)
    tellServedApis(await servedApis(api, deployment.object, await apiServices), deployment, emit);
  return target;
}

type Chosen = WebhookService & { evidence: string[] };

async function chooseCandidates(
  api: ClusterApi,
  candidates: WebhookService[],
  wanted: Wanted,
  hints: CheckoutFacts,
): Promise<Chosen[]> {
  if (wanted.services.length > 0)
    return wanted.services.map((name) => namedCandidate(name, candidates, wanted.namespace ?? api.namespace));
  const inNamespace = candidates.filter(
    (one) => wanted.namespace === undefined || one.namespace === wanted.namespace,
  );
  const ranked = rank(inNamespace, hints).filter(
    (one) =>
      wanted.deployment === undefined || namespaceOf(wanted.deployment, one.namespace) === one.namespace,
  );
  if (ranked.length === 0) {
    if (hints.declaresWebhooks && wanted.deployment === undefined)
      throw noWebhook(inNamespace, hints, wanted);
    return [];
  }
  const best = ranked.filter((one) => one.namespace === ranked[0]!.namespace);
  // Also one that scores less: a second install may be of an older version, or not be named like this checkout.
  const rivals = ranked.filter(
    (one) => one.namespace !== best[0]!.namespace && one.proven === best[0]!.proven,
  );
  if (rivals.length > 0) throw ambiguous([ranked[0]!, ...rivals]);
  // Other Services of the same namespace that this checkout's paths or groups also name belong to the same operator.
  return best;
}

function namedCandidate(name: string, candidates: WebhookService[], namespace: string): Chosen {
  const [space, service] = name.includes('/') ? (name.split('/', 2) as [string, string]) : [namespace, name];
  const matches = candidates.filter(
    (one) => one.service === service && (one.namespace === space || !name.includes('/')),
  );
  const exact =
    matches.find((one) => one.namespace === space) ?? (matches.length === 1 ? matches[0] : undefined);
  // A Service that no configuration calls (yet) can still be taken over: its own first port is the webhook's.
  return { ...(exact ?? { namespace: space, service, calls: [] }), evidence: ['named by you'] };
}

function namespaceOf(name: string, fallback: string): string {
  return name.includes('/') ? name.slice(0, name.indexOf('/')) : fallback;
}

async function readService(api: ClusterApi, candidate: WebhookService): Promise<Service> {
  const ref: ObjectRef = { kind: 'Service', namespace: candidate.namespace, name: candidate.service };
  const service = await api.get<Service>(ref);
  if (service !== undefined) return service;
  const from = candidate.calls[0]?.from;
  throw new DevloopError(
    'target.not-found',
    `Service ${candidate.namespace}/${candidate.service} does not exist${from ? `, though ${from} calls it` : ''}.`,
    {
      hint: `kubectl -n ${candidate.namespace} get services`,
    },
  );
}

/** One take-over is of one manager: a Service of another Deployment is left alone, since nothing here would answer for it. */
function leadsTo(service: Service, deployment: TargetDeployment | undefined, emit: Emit): boolean {
  if (deployment === undefined || isSelectedBy(deployment.object, originalSelector(service))) return true;
  const { namespace, name } = service.metadata;
  const message = `Service ${namespace}/${name} is of this checkout too, but does not lead to Deployment ${deployment.object.metadata.name}; it is left alone.`;
  emit({ type: 'note', message });
  return false;
}

function targetService(
  candidate: WebhookService,
  service: Service,
  deployment: TargetDeployment | undefined,
  refuse: Refuse,
): TargetService {
  const called = unique(candidate.calls.map((call) => call.port));
  const numbers =
    called.length > 0 ? called : (service.spec.ports ?? []).slice(0, 1).map((port) => port.port);
  const { namespace = '', name } = service.metadata;
  const ports = numbers.flatMap((number) => {
    const port = servicePort(service, number);
    const targetPort = port && targetPortOf(port, deployment?.object);
    if (port !== undefined && targetPort !== undefined)
      return [{ name: port.name ?? '', port: number, targetPort }];
    const error = port ? unresolved(service, port, deployment) : noSuchPort(candidate, service, number);
    refuse(error, service);
    return [];
  });
  return { service, serverName: `${name}.${namespace}.svc`, calls: candidate.calls, ports };
}

function noSuchPort({ calls }: WebhookService, { metadata }: Service, number: number): DevloopError {
  const { namespace, name } = metadata;
  const caller = calls.find((call) => call.port === number)?.from;
  return new DevloopError(
    'service.unsupported',
    `Service ${namespace}/${name} has no port ${number}, though ${caller} calls it.`,
    { hint: `kubectl -n ${namespace} get service ${name} -o yaml` },
  );
}

function unresolved(
  { metadata }: Service,
  port: ServicePort,
  deployment: TargetDeployment | undefined,
): DevloopError {
  const where = deployment ? `Deployment ${deployment.object.metadata.name}` : 'any Deployment';
  return new DevloopError(
    'service.unsupported',
    `Port ${port.port} of Service ${metadata.namespace}/${metadata.name} leads to "${port.targetPort}", a name that no container of ${where} declares.`,
    { hint: 'Declare the port in the Deployment, or name the Deployment with --deployment.' },
  );
}

function noWebhook(candidates: WebhookService[], hints: CheckoutFacts, wanted: Wanted): DevloopError {
  const where = wanted.namespace === undefined ? 'the cluster' : `namespace ${wanted.namespace}`;
  const groups = [...hints.groups].slice(0, 5).join(', ') || 'none found';
  const seen =
    candidates
      .slice(0, 8)
      .map((one) => `${one.namespace}/${one.service}`)
      .join(', ') || 'none';
  return new DevloopError(
    'target.no-webhook',
    `This checkout declares webhooks (API groups: ${groups}), but nothing in ${where} calls them. Webhook Services there: ${seen}.`,
    {
      hint: 'Deploy the operator first (usually: make deploy IMG=…), or name its Service with --service namespace/name.',
    },
  );
}

function ambiguous(rivals: Ranked[]): DevloopError {
  const list = rivals
    .map((one) => `\n  ${one.namespace}/${one.service}  (${one.evidence.join('; ')})`)
    .join('');
  return new DevloopError(
    'target.ambiguous',
    `${rivals.length} operators of the cluster match this checkout equally well:${list}`,
    {
      hint: [
        'Say which one:',
        ...rivals.map((one) => `devloop up --service ${one.namespace}/${one.service}`),
      ].join('\n'),
    },
  );
}

function tell(target: Target, wanted: Wanted, emit: Emit): void {
  for (const taken of target.services) tellService(taken, target, wanted, emit);
  if (target.deployment === undefined) return;
  const { object, source } = target.deployment;
  const value = `${object.metadata.namespace}/${object.metadata.name}`;
  emit({ type: 'discovered', what: 'deployment', value, source });
}

function tellServedApis(names: string[], { object }: TargetDeployment, emit: Emit): void {
  if (names.length === 0) return;
  emit({
    type: 'warning',
    message: `Deployment ${object.metadata.name} also serves an API of the cluster (APIService ${names.join(', ')}): nobody serves it while the Deployment is quiet.`,
    hint: 'Switch that API off in the configuration of the controller where it ends here for want of a Pod ("unable to load in-cluster configuration").',
  });
}

function tellService(
  { service, calls, ports }: TargetService,
  target: Target,
  wanted: Wanted,
  emit: Emit,
): void {
  const value = `${service.metadata.namespace}/${service.metadata.name}`;
  const from = unique(calls.map((call) => call.from));
  const source = wanted.services.length > 0 ? 'named by you' : (target.evidence[0] ?? from[0] ?? '');
  emit({ type: 'discovered', what: 'service', value, source });
  if (from.length > 0) {
    const count = calls.length === 1 ? '1 call' : `${calls.length} calls`;
    emit({ type: 'discovered', what: 'webhooks', value: count, source: from.join(', ') });
  }
  const others = (service.spec.ports ?? []).filter((port) => !ports.some((one) => one.port === port.port));
  if (others.length === 0) return;
  const list = others.map((port) => port.name ?? port.port).join(', ');
  emit({
    type: 'warning',
    message: `Service ${value} has ports that no webhook calls (${list}); they lead nowhere while it is taken over.`,
  });
}
