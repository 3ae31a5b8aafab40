import type { CheckoutFacts } from '../checkout/facts.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { GarbledAnswer, isForbidden } from '../cluster/api/errors.ts';
import {
  isWebhookKind,
  kindInfo,
  type ObjectRef,
  refOf,
  WEBHOOK_KINDS,
  type WebhookKind,
} from '../cluster/api/kinds.ts';
import type {
  CustomResourceDefinition,
  Service,
  WebhookClient,
  WebhookConfiguration,
} from '../cluster/api/objects.ts';
import { watchObjects } from '../cluster/api/watch.ts';
import { sessionOf } from '../cluster/marks/marks.ts';
import { isProbeConfiguration } from '../cluster/names.ts';
import { describe } from '../report/object-name.ts';
import { type CrdFields, crdFieldsOf } from './crd-fields.ts';

/** One webhook of a configuration, or the conversion of one CRD, that makes kube-apiserver call a Service. */
export interface WebhookCall {
  /** The webhook configuration, or the CustomResourceDefinition. */
  from: ObjectRef;
  /** The webhook's name in its configuration; for a conversion, the CRD's name. */
  name: string;
  /** The rules for the reviews that the webhook receives; absent for a conversion. */
  rules?: NonNullable<WebhookConfiguration['webhooks']>[number]['rules'];
  /** For a conversion: the kind of the objects that it converts. */
  converts?: string;
  /** Absent for a conversion, which has no such settings. */
  settings?: WebhookSettings;
  /** Absent for a conversion. For a webhook, today's API allows only None and NoneOnDryRun. */
  sideEffects?: string;
  path: string;
  port: number;
  /** PEM in base64, as in the configuration; empty if there is none. */
  caBundle: string;
  /** API groups of the objects that it reviews or converts. */
  groups: string[];
  /**
   * Whether this is the conversion of a CRD with only one version, such as a scaffold creates: there is nothing to convert, so the Service
   * is never called. The CRD still shows to which operator the Service belongs.
   */
  isIdle?: boolean;
}

/** Whether kube-apiserver ever makes the call. */
export function isMade({ isIdle = false }: WebhookCall): boolean {
  return !isIdle;
}

/** The API server fills in what a manifest omits. */
export interface WebhookSettings {
  timeoutSeconds: number;
  failurePolicy: string;
}

function isProbe(object: WebhookConfiguration): boolean {
  const session = sessionOf(object);
  return session !== undefined && isProbeConfiguration(object.metadata, session);
}

/** A Service that kube-apiserver calls, with all calls to it. */
export interface WebhookService {
  namespace: string;
  name: string;
  calls: WebhookCall[];
}

/**
 * Every Service that kube-apiserver calls for admission, or for the conversion of kinds that the checkout defines; idle calls are included.
 * `listing`: all webhook configurations, if they are being listed already.
 */
export async function listWebhookServices(
  api: ClusterApi,
  facts: CheckoutFacts | Promise<CheckoutFacts>,
  listing: Promise<Configuration[]> = listConfigurations(api),
): Promise<WebhookService[]> {
  const [configurations, definitions] = await Promise.all([listing, convertedDefinitions(api, facts)]);
  return byService([...configurations.flatMap(admissionCalls), ...definitions.flatMap(conversionCalls)]);
}

/** A webhook configuration and its kind. */
export interface Configuration {
  kind: WebhookKind;
  object: WebhookConfiguration;
}

/** All webhook configurations except devloop's own probes. */
export async function listConfigurations(api: ClusterApi): Promise<Configuration[]> {
  const lists = WEBHOOK_KINDS.map(async (kind) => {
    const objects = await api.list<WebhookConfiguration>(kind, undefined);
    return objects.map((object) => ({ kind, object }));
  });
  return (await Promise.all(lists)).flat().filter(({ object }) => !isProbe(object));
}

/** The Services that kube-apiserver calls for admission. */
export function servicesCalledBy(configurations: Configuration[]): WebhookService[] {
  return byService(configurations.flatMap(admissionCalls));
}

/**
 * The CRDs of the checkout's groups; none if the account is not allowed to read CRDs. Little is lost then, since conversions nearly always
 * use the same Service as the webhooks.
 */
async function convertedDefinitions(
  api: ClusterApi,
  reading: CheckoutFacts | Promise<CheckoutFacts>,
): Promise<CustomResourceDefinition[]> {
  const { groups } = await reading;
  if (groups.size === 0) return [];
  try {
    const names = (await definitionNames(api)).filter((name) =>
      groups.has(name.slice(name.indexOf('.') + 1)),
    );
    const read = await Promise.all(
      names.map((name) => api.get<CustomResourceDefinition>({ kind: 'CustomResourceDefinition', name })),
    );
    return read.filter((definition) => definition !== undefined);
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}

/** Requests a Table, which has only the names, because the CRDs of a big cluster are tens of megabytes. */
export async function definitionNames(api: ClusterApi): Promise<string[]> {
  const { root, plural } = kindInfo('CustomResourceDefinition');
  const { rows } = await api.call<{ rows?: { cells?: unknown[] }[] | null }>(
    'GET',
    `${root}/${plural}`,
    undefined,
    { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1', query: { includeObject: 'None' } },
  );
  // Go encodes an empty list as null.
  if (rows === null) return [];
  if (!Array.isArray(rows) || !rows.every((row) => typeof row?.cells?.[0] === 'string'))
    throw new GarbledAnswer('something that is not a table of the CustomResourceDefinitions');
  return rows.map(({ cells }) => String(cells![0]));
}

/** A call, and the Service that receives it. */
export interface AddressedCall {
  namespace: string;
  name: string;
  call: WebhookCall;
}

/** Returns no calls for devloop's own probes, since they are not the operator's. */
function admissionCalls({ kind, object }: Configuration): AddressedCall[] {
  if (isProbe(object)) return [];
  const from = refOf(kind, object.metadata);
  return (object.webhooks ?? []).flatMap(
    ({ name, clientConfig, rules = [], sideEffects, timeoutSeconds = 10, failurePolicy = 'Fail' }) =>
      callTo(clientConfig, {
        ...{ from, name, rules, sideEffects, settings: { timeoutSeconds, failurePolicy } },
        groups: rules.flatMap((rule) => rule.apiGroups ?? []),
      }),
  );
}

function conversionCalls({ metadata, spec }: CustomResourceDefinition): AddressedCall[] {
  if (spec.conversion?.strategy !== 'Webhook') return [];
  const from = refOf('CustomResourceDefinition', metadata);
  return callTo(spec.conversion.webhook?.clientConfig, {
    ...{ from, name: metadata.name, converts: spec.names?.kind, groups: [spec.group] },
    isIdle: spec.versions?.length === 1,
  });
}

/** Returns no call for a webhook that is configured by URL. */
function callTo(
  client: WebhookClient | undefined,
  caller: Omit<WebhookCall, 'path' | 'port' | 'caBundle'>,
): AddressedCall[] {
  if (!client?.service) return [];
  const { namespace, name, path = '/', port = 443 } = client.service;
  return [{ namespace, name, call: { ...caller, path, port, caBundle: client.caBundle ?? '' } }];
}

function byService(calls: AddressedCall[]): WebhookService[] {
  const services = new Map<string, WebhookService>();
  for (const { namespace, name, call } of calls) {
    const service = services.get(`${namespace}/${name}`) ?? { namespace, name, calls: [] };
    service.calls.push(call);
    services.set(`${namespace}/${name}`, service);
  }
  return [...services.values()];
}

/** The configurations and CRDs that the calls come from, each once. */
export function callersOf(calls: WebhookCall[]): ObjectRef[] {
  return [...new Map(calls.map(({ from }) => [describe(from), from])).values()];
}

/** Rereads the configurations that call a Service, because a caBundle changes with the certificate. */
export async function rereadCalls(
  api: ClusterApi,
  { service, calls }: { service: Service; calls: WebhookCall[] },
): Promise<WebhookCall[]> {
  const { namespace, name } = service.metadata;
  const read = await Promise.all(callersOf(calls).map((ref) => readCalls(api, ref)));
  const services = byService(read.flat().filter(({ call }) => isMade(call)));
  return services.find((one) => one.namespace === namespace && one.name === name)?.calls ?? calls;
}

/** The kinds of objects that make kube-apiserver call a Service. */
export const CALLERS = [...WEBHOOK_KINDS, 'CustomResourceDefinition'] as const;

/** What is followed of the objects that cause calls. */
export interface FollowingCalls {
  signal: AbortSignal;
  onCalls(calls: AddressedCall[]): void;
  /** The API groups of whose CRDs the fields are followed: the schemas of all CRDs of a big cluster are tens of megabytes. */
  groups?: ReadonlySet<string>;
  onFields?(fields: CrdFields[]): void;
}

/**
 * Reports the calls to these Services that objects of one kind cause, at the start and after each change, until the signal aborts. Rejects
 * if the account is not allowed to list or watch the kind.
 */
export async function followCalls(
  api: ClusterApi,
  kind: (typeof CALLERS)[number],
  services: Service[],
  { signal, onCalls, groups = new Set(), onFields = () => {} }: FollowingCalls,
): Promise<void> {
  const names = new Set(services.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  const callsOf = (object: Caller): AddressedCall[] =>
    (kind === 'CustomResourceDefinition' ? conversionCalls(object) : admissionCalls({ kind, object })).filter(
      ({ namespace, name, call }) => isMade(call) && names.has(`${namespace}/${name}`),
    );
  await watchObjects<Caller>(
    api,
    { kind },
    {
      signal,
      keep: (object) => ({ ...withoutSchema(object), fields: followedFields(object, groups) }),
      onObjects(objects) {
        onFields(objects.flatMap(({ fields }) => fields ?? []));
        onCalls(objects.flatMap(callsOf));
      },
    },
  );
}

type Caller = WebhookConfiguration & CustomResourceDefinition & { fields?: CrdFields | undefined };

function followedFields({ metadata, spec }: Caller, groups: ReadonlySet<string>): CrdFields | undefined {
  return spec !== undefined && groups.has(spec.group) ? crdFieldsOf({ metadata, spec }) : undefined;
}

/** Drops the schemas, which are nearly all of the tens of megabytes of CRDs in a big cluster. */
function withoutSchema({ metadata, webhooks, spec }: Caller): Caller {
  const { name, labels, resourceVersion } = metadata;
  const versions = spec?.versions?.map((version) => ({ name: version.name }));
  const { group, names, conversion } = spec ?? {};
  const kept = spec && { group, names, versions, conversion };
  return { metadata: { name, labels, resourceVersion }, webhooks, spec: kept } as Caller;
}

/** The calls that an object causes; none if it is gone or cannot be read. */
async function readCalls(api: ClusterApi, ref: ObjectRef): Promise<AddressedCall[]> {
  if (isWebhookKind(ref.kind)) {
    const object = await api.get<WebhookConfiguration>(ref).catch(() => undefined);
    return object ? admissionCalls({ kind: ref.kind, object }) : [];
  }
  const object = await api.get<CustomResourceDefinition>(ref).catch(() => undefined);
  return object ? conversionCalls(object) : [];
}
