import type { ClusterApi } from '../../cluster/api/client.ts';
import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import { isWebhookKind } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { undoOf } from '../../cluster/marks/undo.ts';
import { WEBHOOKS } from '../../cluster/takeover/webhook-time.ts';
import type { ComparedManifest } from '../../report/events.ts';
import { type Configuration, definitionNames, listConfigurations } from '../webhooks.ts';
import { differencesOf } from './differences.ts';
import { type ComparedObject, type Manifest, namePrefixes, readManifests } from './read.ts';

export interface Comparison {
  compared: ComparedManifest[];
  /** Templates of charts, which nothing else of the checkout covers. */
  templates: string[];
}

export interface ComparedWith {
  api: ClusterApi;
  root: string;
  /** The API groups that the checkout defines. */
  groups: Set<string>;
  /** The operator in the cluster: where its Roles are, and which Services its webhook configurations call. */
  target: { namespace: string; services: { service: Service }[] };
}

/**
 * Compares the CRDs, webhook configurations and roles of a checkout with the cluster's, and only reads. An object that the account is not
 * allowed to read, or that kustomize may leave out, is not compared.
 */
export async function compareManifests(at: ComparedWith): Promise<Comparison> {
  const [{ manifests, templates }, prefixes] = await Promise.all([
    readManifests(at.root),
    namePrefixes(at.root),
  ]);
  const configurations = await listConfigurations(at.api).catch(undefinedIfForbidden);
  const found = await Promise.all(
    manifests.map((manifest) =>
      compareOne(manifest, { ...at, prefixes, configurations: configurations ?? [] }),
    ),
  );
  const compared = found.filter((one) => one !== undefined);
  return {
    compared: [...compared, ...(await onlyInCluster(at, manifests))],
    templates: manifests.length === 0 ? templates : [],
  };
}

interface Live extends ComparedWith {
  prefixes: string[];
  configurations: Configuration[];
}

async function compareOne(manifest: Manifest, live: Live): Promise<ComparedManifest | undefined> {
  const { kind, file, object } = manifest;
  const { name } = object.metadata;
  const isDefinition = kind === 'CustomResourceDefinition';
  if (isDefinition && !live.groups.has(groupOf(name))) return undefined;
  const found = isWebhookKind(kind) ? configurationFor(manifest, live) : await liveObject(manifest, live);
  if (found === 'unknown') return undefined;
  if (found === undefined)
    return isDefinition ? { object: { kind, name }, file, is: 'missing', differences: [] } : undefined;
  const { namespace } = found.metadata;
  const ref = { kind, name: found.metadata.name, ...(namespace === undefined ? {} : { namespace }) };
  const differences = differencesOf(manifest, found);
  return { object: ref, file, is: differences.length === 0 ? 'same' : 'different', differences };
}

/** The object under one of the names that kustomize can have given to it. */
async function liveObject(
  { kind, object }: Manifest,
  { api, prefixes, target }: Live,
): Promise<ComparedObject | 'unknown' | undefined> {
  const names = kind === 'CustomResourceDefinition' ? [''] : prefixes;
  for (const prefix of names) {
    const ref: ObjectRef = { kind, name: `${prefix}${object.metadata.name}` };
    if (kind === 'Role') ref.namespace = target.namespace;
    const read = api.get<ComparedObject & { metadata: { name: string } }>(ref);
    const found = await read.then((value) => value ?? null, undefinedIfForbidden);
    if (found === undefined) return 'unknown';
    if (found !== null) return found;
  }
  return undefined;
}

/** A configuration of that name, after a prefix, that calls one of the operator's Services. */
function configurationFor(
  { kind, object }: Manifest,
  { configurations, target }: Live,
): ComparedObject | undefined {
  const { name } = object.metadata;
  const isCalled = (one: Configuration['object']): boolean =>
    (one.webhooks ?? []).some(({ clientConfig: { service } }) =>
      target.services.some(
        ({ service: { metadata } }) =>
          metadata.name === service?.name && metadata.namespace === service.namespace,
      ),
    );
  const found = configurations.find(
    (one) =>
      one.kind === kind &&
      (one.object.metadata.name === name || one.object.metadata.name.endsWith(`-${name}`)) &&
      isCalled(one.object),
  );
  return found && asBefore(found.object);
}

/** The configuration without what a session changes in it while a controller is debugged. */
function asBefore(object: Configuration['object']): ComparedObject {
  const undo = sessionOf(object) === undefined ? [] : undoOf(object, WEBHOOKS);
  const changes = 'fault' in undo ? [] : undo;
  const webhooks = object.webhooks?.map((webhook) => {
    const own = changes.filter(({ path: [, name] }) => name === webhook.name);
    return { ...webhook, ...Object.fromEntries(own.map(({ path, before }) => [path.at(-1), before])) };
  });
  return { ...object, ...(webhooks && { webhooks }) };
}

/** CRDs of the checkout's groups of which the checkout has no manifest, although it has one of another CRD of that group. */
async function onlyInCluster(
  { api, groups }: ComparedWith,
  manifests: Manifest[],
): Promise<ComparedManifest[]> {
  const own = new Set(
    manifests
      .filter(({ kind }) => kind === 'CustomResourceDefinition')
      .map(({ object }) => object.metadata.name),
  );
  const covered = new Set([...own].map(groupOf).filter((group) => groups.has(group)));
  if (covered.size === 0) return [];
  const names = (await definitionNames(api).catch(undefinedIfForbidden)) ?? [];
  return names
    .filter((name) => covered.has(groupOf(name)) && !own.has(name))
    .map((name) => ({ object: { kind: 'CustomResourceDefinition', name }, is: 'extra', differences: [] }));
}

function groupOf(definition: string): string {
  return definition.slice(definition.indexOf('.') + 1);
}
