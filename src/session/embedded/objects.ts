import type { KeyPair } from '../../certificates/key-pair.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { aggregated } from './aggregated.ts';

/** An object of a manifest. Its fields are what the checkout says, so anything can be missing. */
export type Declared = KubeObject & { [field: string]: unknown };

/** What is not created, because nothing would become of it here. */
const LEFT_OUT: Record<string, string> = {
  Job: 'nothing runs Pods here',
  CronJob: 'nothing runs Pods here',
  APIService: 'nothing serves it here',
};
/** devloop signs certificates itself. */
const CERT_MANAGER = /^cert-manager\.io\//;
/** The Secret with the key pair of the webhooks, where the operator has none yet. */
export const OWN_PAIR = 'devloop-webhook-cert';
export const CRD = 'CustomResourceDefinition';
/** What others are in comes first, and webhooks when everything else exists. */
const FIRST = ['Namespace'];
const LAST = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'];

/** What a program such as envsubst would fill in. */
const VARIABLE = /\$\{\w+[^}]*\}/;
const CONVERSION = 'conversion';
const HOOK = 'helm.sh/hook';
/** The Service of kube-apiserver itself, through which an APIService is called. */
const API_SERVER = 'default/kubernetes';
const BUILT_IN = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** kube-apiserver creates these itself. */
export function isBuiltInNamespace(name: string): boolean {
  return BUILT_IN.includes(name);
}

export function isWebhookConfiguration({ kind = '' }: Declared): boolean {
  return LAST.includes(kind);
}

export interface LeftOut {
  object: Declared;
  /** What of it, if not all. */
  part?: string;
  why: string;
}

export interface Installed {
  /** One stage after the other, each at once. */
  objects: Declared[][];
  leftOut: LeftOut[];
}

/** The names by which kube-apiserver verifies the Services that webhooks and conversions call. */
export function serverNames(declared: readonly Declared[]): string[] {
  const names = clientConfigs(declared).flatMap(({ service }) =>
    service ? [`${service.name}.${service.namespace}.svc`] : [],
  );
  return [...new Set(names)].sort();
}

/** What of the manifests is created, with one key pair for all Services in place of what cert-manager would issue. */
export function toInstall(declared: readonly Declared[], pair: KeyPair | undefined): Installed {
  const own = definedKinds(declared);
  const services = new Set(
    declared.filter(({ kind }) => kind === 'Service').map(({ metadata }) => keyOf(metadata)),
  );
  const whyNot = (object: Declared): string | undefined => {
    const { kind = '', apiVersion = '', metadata } = object;
    const { annotations } = metadata as { annotations?: Record<string, unknown> };
    if (annotations && HOOK in annotations) return 'it is a hook of Helm';
    if (own.has(`${apiVersion.split('/')[0]} ${kind}`)) return 'apply it when the controller runs';
    const [variable] = VARIABLE.exec(`${metadata.name} ${metadata.namespace}`) ?? [];
    if (variable !== undefined) return `its name needs a value for ${variable}`;
    return (isWebhookConfiguration(object) ? lostService(object, services) : undefined) ?? LEFT_OUT[kind];
  };
  const leftOut = declared.flatMap((object) => {
    const why = whyNot(object);
    if (why !== undefined) return [{ object, why }];
    const lost = lostService(object, services);
    return lost === undefined ? [] : [{ object, part: CONVERSION, why: lost }];
  });
  const kept = declared
    .filter((object) => whyNot(object) === undefined && !CERT_MANAGER.test(object.apiVersion ?? ''))
    .map((object) => (lostService(object, services) === undefined ? object : unconverted(object)));
  const secrets = pair ? secretsFor(declared, pair) : [];
  const filled = new Set(secrets.map(({ metadata }) => keyOf(metadata)));
  const others = kept.filter((one) => !(isSecret(one) && filled.has(keyOf(one.metadata))));
  const objects = [
    ...structuredClone(aggregated(others)),
    ...missingNamespaces(kept),
    ...missingAccounts(kept),
  ];
  if (pair) {
    for (const config of clientConfigs(objects))
      if (config.service) config.caBundle = base64(pair.certificate);
    for (const secret of mountedSecrets(objects)) replacePair(secret, pair);
  }
  const stages = Map.groupBy([...objects, ...secrets], stageOf);
  return { objects: [0, 1, 2, 3].flatMap((stage) => [stages.get(stage) ?? []]), leftOut };
}

/** Why what the object calls cannot be called. An operator can create such a Service itself, when it runs. */
function lostService(object: Declared, services: ReadonlySet<string>): string | undefined {
  const lost = clientConfigs([object]).find(({ service }) => service && !services.has(keyOf(service)));
  const service = lost && keyOf(lost.service!);
  if (service === API_SERVER) return 'it is called through an APIService, and nothing serves that here';
  return service && `no manifest has its Service ${service}`;
}

/** Without its webhook, a CRD can at least be used in the version in which its objects are stored. */
export function unconverted(crd: Declared): Declared {
  return { ...crd, spec: { ...(crd.spec as object), conversion: { strategy: 'None' } } };
}

/** `group Kind` of each CRD. */
function definedKinds(declared: readonly Declared[]): Set<string> {
  const crds = declared.filter(({ kind }) => kind === CRD) as {
    spec?: { group?: string; names?: { kind?: string } };
  }[];
  return new Set(crds.map(({ spec }) => `${spec?.group} ${spec?.names?.kind}`));
}

/** `kubectl create namespace` and `helm install --create-namespace` come before many manifests. */
function missingNamespaces(objects: readonly Declared[]): Declared[] {
  const declared = objects.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name);
  const used = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
  return [...used]
    .filter((name) => !declared.includes(name) && !isBuiltInNamespace(name))
    .map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
}

const WORKLOADS = ['Deployment', 'StatefulSet', 'DaemonSet'];
const DEFAULT_ACCOUNT = 'default';

/** A cluster's controllers create this account in each namespace, and Pods work as it if they name none. */
function missingAccounts(objects: readonly Declared[]): Declared[] {
  const using = objects.filter(({ kind = '', spec }) => {
    const { template } = (spec ?? {}) as { template?: { spec?: { serviceAccountName?: unknown } } };
    const { serviceAccountName = DEFAULT_ACCOUNT } = template?.spec ?? {};
    return WORKLOADS.includes(kind) && serviceAccountName === DEFAULT_ACCOUNT;
  });
  const has = new Set(
    objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => keyOf(metadata)),
  );
  const wanted = new Set(using.map(({ metadata }) => metadata.namespace ?? 'default'));
  return [...wanted]
    .filter((namespace) => !has.has(keyOf({ namespace, name: DEFAULT_ACCOUNT })))
    .map((namespace) => ({
      ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
      metadata: { name: DEFAULT_ACCOUNT, namespace },
    }));
}

function stageOf({ kind = '' }: Declared): number {
  if (FIRST.includes(kind)) return 0;
  if (kind === CRD) return 1;
  return LAST.includes(kind) ? 3 : 2;
}

interface ClientConfig {
  service?: { name: string; namespace: string };
  caBundle?: string;
}

export function clientConfigs(objects: readonly Declared[]): ClientConfig[] {
  return objects.flatMap((object) => {
    const { webhooks, spec } = object as {
      webhooks?: { clientConfig?: ClientConfig }[];
      spec?: { conversion?: { webhook?: { clientConfig?: ClientConfig } } };
    };
    const conversion = object.kind === CRD ? spec?.conversion?.webhook : undefined;
    const all = [...(LAST.includes(object.kind ?? '') ? (webhooks ?? []) : []), conversion];
    return all.flatMap((one) => one?.clientConfig ?? []);
  });
}

/**
 * The Secrets that certificates would fill, and those that the manager mounts as its key pair and no manifest has, or only without content,
 * because the manager fills it.
 */
function secretsFor(declared: readonly Declared[], pair: KeyPair): Declared[] {
  const manifests = new Map(declared.filter(isSecret).map((one) => [keyOf(one.metadata), one]));
  const wanted = new Map(wantedPairs(declared).map((one) => [keyOf(one), one]));
  const data = {
    'tls.crt': base64(pair.certificate),
    'tls.key': base64(pair.key),
    'ca.crt': base64(pair.certificate),
  };
  return [...wanted].flatMap(([key, metadata]): Declared[] => {
    const manifest = manifests.get(key);
    if (manifest && !isEmpty(manifest)) return [];
    return [{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, ...manifest, data }];
  });
}

/**
 * A manager that creates its Secret itself mounts it as optional, or reads it through the API. Until then, one that it does not know serves:
 * its own would be there only after it has started.
 */
function wantedPairs(declared: readonly Declared[]): Place[] {
  const mounts = declared.flatMap(mounted);
  const required = [...declared.flatMap(issued), ...mounts.filter(({ optional }) => !optional)];
  const called = new Set(clientConfigs(declared).flatMap(({ service }) => (service ? keyOf(service) : [])));
  const services = declared.filter(({ kind, metadata }) => kind === 'Service' && called.has(keyOf(metadata)));
  const namespaces = new Set(services.map(({ metadata: { namespace = 'default' } }) => namespace));
  const others = [...namespaces].flatMap((namespace) => {
    const isHere = (place: Place): boolean => place.namespace === namespace;
    if (required.some(isHere)) return [];
    const optional = mounts.filter(isHere);
    return optional.length > 0 ? optional : [{ namespace, name: OWN_PAIR }];
  });
  return [...required, ...others].map(({ name, namespace }) => ({ name, namespace }));
}

function isSecret({ kind }: Declared): boolean {
  return kind === 'Secret';
}

function isEmpty({ data, stringData }: Declared): boolean {
  return Object.keys({ ...(data ?? {}), ...(stringData ?? {}) }).length === 0;
}

/** Those that are mounted and that a manifest has. */
function mountedSecrets(objects: readonly Declared[]): Declared[] {
  const names = new Set(objects.flatMap(volumeSecrets).map(keyOf));
  return objects.filter((one) => names.has(keyOf(one.metadata)) && isSecret(one));
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----/;
const PRIVATE_KEY = /-----BEGIN (?:\w+ )?PRIVATE KEY-----/;

/** A key pair that a script has made once and that was committed is expired, or of a CA whose certificate was only in the caBundle. */
function replacePair(secret: Declared, { certificate, key }: KeyPair): void {
  const { data, stringData } = secret as Record<string, Record<string, unknown> | undefined>;
  const encoded = Object.entries(stringData ?? {}).map(([name, text]) => [name, base64(String(text))]);
  const entries = Object.entries({ ...data, ...Object.fromEntries(encoded) });
  const kinds = entries.map(([, value]) => {
    const text = Buffer.from(String(value), 'base64').toString();
    return PRIVATE_KEY.test(text) ? key : CERTIFICATE.test(text) ? certificate : undefined;
  });
  if (!kinds.includes(key) || !kinds.includes(certificate)) return;
  const replaced = entries.map(([name, value], at) => [
    name,
    kinds[at] === undefined ? value : base64(kinds[at]),
  ]);
  Object.assign(secret, { data: Object.fromEntries(replaced), stringData: undefined });
}

interface Place {
  name: string;
  namespace: string;
}

function issued({ apiVersion = '', kind, metadata, spec }: Declared): Place[] {
  const { secretName } = (spec ?? {}) as { secretName?: unknown };
  if (!CERT_MANAGER.test(apiVersion) || kind !== 'Certificate' || typeof secretName !== 'string') return [];
  return [{ name: secretName, namespace: metadata.namespace ?? 'default' }];
}

const LOOKS_LIKE_KEY_PAIR = /cert|tls/i;

function mounted(object: Declared): (Place & { optional: boolean })[] {
  return volumeSecrets(object).filter(({ name }) => LOOKS_LIKE_KEY_PAIR.test(name));
}

function volumeSecrets({ kind = '', metadata, spec }: Declared): (Place & { optional: boolean })[] {
  if (!WORKLOADS.includes(kind)) return [];
  const { template } = (spec ?? {}) as { template?: { spec?: { volumes?: unknown } } };
  const volumes = template?.spec?.volumes;
  if (!Array.isArray(volumes)) return [];
  return (volumes as { secret?: { secretName?: unknown; optional?: unknown } }[]).flatMap((volume) => {
    const { secretName, optional } = volume?.secret ?? {};
    if (typeof secretName !== 'string') return [];
    return [{ name: secretName, namespace: metadata.namespace ?? 'default', optional: optional === true }];
  });
}

export function keyOf({ namespace = 'default', name }: { namespace?: string; name: string }): string {
  return `${namespace}/${name}`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
