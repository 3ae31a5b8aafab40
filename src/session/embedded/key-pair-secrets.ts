import type { KeyPair } from '../../certificates/key-pair.ts';
import { base64, CERT_MANAGER, calledServices, type Declared, keyOf, WORKLOADS } from './declared.ts';

/** The Secret with the key pair of the webhooks, where the operator has none yet. */
export const OWN_PAIR = 'devloop-webhook-cert';

/**
 * The Secrets that certificates would fill, and those that the manager mounts as its key pair and no manifest has, or only without content,
 * because the manager fills it.
 */
export function secretsFor(declared: readonly Declared[], pair: KeyPair): Declared[] {
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
  const called = new Set(calledServices(declared));
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

export function isSecret({ kind }: Declared): boolean {
  return kind === 'Secret';
}

function isEmpty({ data, stringData }: Declared): boolean {
  return Object.keys({ ...(data ?? {}), ...(stringData ?? {}) }).length === 0;
}

/** Those that are mounted and that a manifest has. */
export function mountedSecrets(objects: readonly Declared[]): Declared[] {
  const names = new Set(objects.flatMap(volumeSecrets).map(keyOf));
  return objects.filter((one) => names.has(keyOf(one.metadata)) && isSecret(one));
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----/;
const PRIVATE_KEY = /-----BEGIN (?:\w+ )?PRIVATE KEY-----/;

/** A key pair that a script has made once and that was committed is expired, or of a CA whose certificate was only in the caBundle. */
export function replacePair(secret: Declared, { certificate, key }: KeyPair): void {
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
