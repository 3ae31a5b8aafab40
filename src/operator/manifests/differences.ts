import { isDeepStrictEqual } from 'node:util';
import type { ManifestDifference } from '../../report/manifest.ts';
import type { ComparedObject, Manifest } from './read.ts';
import { permissionsOf } from './rules.ts';

type Json = Record<string, unknown>;

/** How a manifest of the checkout differs from the cluster's object. What only the API server or kustomize fills in does not count. */
export function differencesOf({ kind, object }: Manifest, found: ComparedObject): ManifestDifference[] {
  switch (kind) {
    case 'CustomResourceDefinition':
      return compareDefinitions(object.spec as unknown as Json, found.spec as unknown as Json);
    case 'Role':
    case 'ClusterRole':
      return compareSets(permissionsOf(object.rules), permissionsOf(found.rules));
    default:
      return compareNamed(
        { here: webhooksOf(object, kind), there: webhooksOf(found, kind) },
        '',
        (here, there, name) => compareStated(here, there, `${name}.`),
      );
  }
}

/** The fields of a CRD that its manifest decides. A patch of kustomize adds the conversion. */
function compareDefinitions(here: Json, there: Json): ManifestDifference[] {
  const sides = { here: list(here.versions), there: list(there.versions) };
  return [
    ...compareStated({ scope: here.scope }, { scope: there.scope }, 'spec.'),
    ...compareNamed(sides, 'version ', (version, other, name) => {
      const { schema: own, ...flags } = version;
      const { schema: current, ...others } = other;
      const prefix = sides.here.length > 1 ? `${name}: ` : '';
      return [
        ...compareStated(withoutColumns(flags), withoutColumns(others), `${name}.`),
        ...compareSchemas(schemaOf(own), schemaOf(current), { path: '', prefix }),
      ];
    }),
  ];
}

/** Columns matter only to `kubectl get`. */
function withoutColumns({ additionalPrinterColumns: _, ...rest }: Json): Json {
  return rest;
}

function schemaOf(value: unknown): Json {
  return object(object(value).openAPIV3Schema);
}

/** `path`: the field that the schemas describe, such as `spec.ports[]`. Descriptions do not count, since they change no behaviour. */
function compareSchemas(here: Json, there: Json, at: { path: string; prefix: string }): ManifestDifference[] {
  const { properties: own, items, additionalProperties, ...rest } = here;
  const { properties: current, items: otherItems, additionalProperties: otherMore, ...others } = there;
  const { description: _, ...rules } = rest;
  const { description: __, ...otherRules } = others;
  const what = `${at.prefix}${at.path || 'the schema'}`;
  const sides = { here: object(own), there: object(current) };
  return [
    ...(isDeepStrictEqual(withoutEmpty(rules), withoutEmpty(otherRules))
      ? []
      : [{ what, is: 'different' } as const]),
    ...compareFields(sides, at),
    ...compareValues(items, otherItems, { ...at, path: `${at.path}[]` }),
    ...compareValues(additionalProperties, otherMore, { ...at, path: `${at.path}.*` }),
  ];
}

function compareValues(
  here: unknown,
  there: unknown,
  at: { path: string; prefix: string },
): ManifestDifference[] {
  if (here === undefined && there === undefined) return [];
  if (typeof here === 'boolean' || typeof there === 'boolean')
    return here === there ? [] : [{ what: `${at.prefix}${at.path}`, is: 'different' }];
  return compareSchemas(object(here), object(there), at);
}

function compareFields(
  { here, there }: { here: Json; there: Json },
  at: { path: string; prefix: string },
): ManifestDifference[] {
  const names = [...new Set([...Object.keys(here), ...Object.keys(there)])];
  return names.flatMap((name): ManifestDifference[] => {
    const path = at.path === '' ? name : `${at.path}.${name}`;
    const what = `${at.prefix}${path}`;
    if (!Object.hasOwn(there, name)) return [{ what, is: 'only here' }];
    if (!Object.hasOwn(here, name)) return [{ what, is: 'only in the cluster' }];
    return compareSchemas(object(here[name]), object(there[name]), { ...at, path });
  });
}

/** The API server drops values that say nothing. */
function withoutEmpty(rules: Json): Json {
  return Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== false && value !== ''));
}

const WEBHOOK_DEFAULTS = { failurePolicy: 'Fail', matchPolicy: 'Equivalent', timeoutSeconds: 10 };

/**
 * The webhooks of a configuration, with the defaults of the API server. Service and caBundle are filled in when the operator is deployed.
 */
function webhooksOf({ webhooks = [] }: ComparedObject, kind: string): Json[] {
  return webhooks.map(({ clientConfig, rules, ...rest }) => ({
    ...WEBHOOK_DEFAULTS,
    ...(kind === 'MutatingWebhookConfiguration' ? { reinvocationPolicy: 'Never' } : {}),
    ...rest,
    path: clientConfig.service?.path ?? '/',
    rules: (rules ?? []).map((rule) => ({ scope: '*', ...rule })),
  }));
}

/** Compares what this side states, since a patch of kustomize may add selectors and conditions. */
function compareStated(here: Json, there: Json, prefix: string): ManifestDifference[] {
  return Object.entries(here).flatMap(([name, value]): ManifestDifference[] => {
    if (value === undefined || isDeepStrictEqual(value, there[name])) return [];
    const is = there[name] === undefined ? 'only here' : 'different';
    return isEmpty(value) && isEmpty(there[name]) ? [] : [{ what: `${prefix}${name}`, is }];
  });
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === false) return true;
  return typeof value === 'object' && Object.keys(object(value)).length === 0;
}

function compareNamed(
  { here, there }: { here: Json[]; there: Json[] },
  word: string,
  compare: (here: Json, there: Json, name: string) => ManifestDifference[],
): ManifestDifference[] {
  const names = [...new Set([...here, ...there].map(({ name }) => String(name)))];
  return names.flatMap((name): ManifestDifference[] => {
    const own = here.find((one) => one.name === name);
    const other = there.find((one) => one.name === name);
    if (other === undefined) return [{ what: `${word}${name}`, is: 'only here' }];
    if (own === undefined) return [{ what: `${word}${name}`, is: 'only in the cluster' }];
    return compare(own, other, name);
  });
}

function compareSets(here: Set<string> | undefined, there: Set<string> | undefined): ManifestDifference[] {
  if (here === undefined || there === undefined) return [];
  return [
    ...[...here]
      .filter((what) => !there.has(what))
      .map((what): ManifestDifference => ({ what, is: 'only here' })),
    ...[...there]
      .filter((what) => !here.has(what))
      .map((what): ManifestDifference => ({ what, is: 'only in the cluster' })),
  ];
}

function object(value: unknown): Json {
  return value !== null && typeof value === 'object' ? (value as Json) : {};
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value : [];
}
