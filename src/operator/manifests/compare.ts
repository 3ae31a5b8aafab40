import { isDeepStrictEqual } from 'node:util';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import { isWebhookKind } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { undoOf } from '../../cluster/marks/undo.ts';
import { WEBHOOKS } from '../../cluster/takeover/webhook-time.ts';
import type { ComparedManifest } from '../../report/manifest.ts';
import { type Configuration, definitionNames, listConfigurations } from '../webhooks.ts';
import { differencesOf } from './differences.ts';
import { readKustomizations } from './kustomizations.ts';
import { isMissing, type LookedUp } from './missing.ts';
import { type ComparedObject, type Manifest, readManifests } from './read.ts';

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
  const [{ manifests, templates }, kustomizations] = await Promise.all([
    readManifests(at.root),
    readKustomizations(at.root),
  ]);
  const configurations = await listConfigurations(at.api).catch(undefinedIfForbidden);
  const { prefixes } = kustomizations;
  const own = manifests.filter((one) => isOfGroups(one, at.groups));
  const all = await Promise.all(own.map((manifest) => lookUp(manifest, { ...at, prefixes, configurations })));
  const compared = all.flatMap((one) => comparedOne(one, () => isMissing(one, all, kustomizations)));
  return {
    compared: [...withoutCopies(compared), ...(await onlyInCluster(at, manifests))],
    templates: manifests.length === 0 ? templates : [],
  };
}

interface Live extends ComparedWith {
  prefixes: string[];
  /** Undefined if the account is not allowed to list them. */
  configurations: Configuration[] | undefined;
}

function isOfGroups({ kind, object }: Manifest, groups: Set<string>): boolean {
  return kind !== 'CustomResourceDefinition' || groups.has(groupOf(object.metadata.name));
}

async function lookUp(manifest: Manifest, live: Live): Promise<LookedUp> {
  const isConfiguration = isWebhookKind(manifest.kind);
  return {
    manifest,
    found: isConfiguration ? configurationFor(manifest, live) : await liveObject(manifest, live),
  };
}

function comparedOne({ manifest, found }: LookedUp, isMissing: () => boolean): ComparedManifest[] {
  const { kind, file, object } = manifest;
  const { name } = object.metadata;
  if (found === 'unknown') return [];
  if (found === undefined) {
    const isLost = kind === 'CustomResourceDefinition' || isMissing();
    return isLost ? [{ object: { kind, name }, file, is: 'missing', differences: [] }] : [];
  }
  const { namespace } = found.metadata;
  const ref = { kind, name: found.metadata.name, ...(namespace === undefined ? {} : { namespace }) };
  const differences = differencesOf(manifest, found);
  return [{ object: ref, file, is: differences.length === 0 ? 'same' : 'different', differences }];
}

/** What kustomize has built (`deploy/install.yaml`) declares the same objects again, under the names that they have in the cluster. */
function withoutCopies(compared: ComparedManifest[]): ComparedManifest[] {
  return compared.filter(
    ({ object }, index) => compared.findIndex((one) => isDeepStrictEqual(one.object, object)) === index,
  );
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
): ComparedObject | 'unknown' | undefined {
  const { name } = object.metadata;
  const isCalled = (one: Configuration['object']): boolean =>
    (one.webhooks ?? []).some(({ clientConfig: { service } }) =>
      target.services.some(
        ({ service: { metadata } }) =>
          metadata.name === service?.name && metadata.namespace === service.namespace,
      ),
    );
  const named = configurations?.filter(
    (one) =>
      one.kind === kind &&
      (one.object.metadata.name === name || one.object.metadata.name.endsWith(`-${name}`)),
  );
  const found = named?.find((one) => isCalled(one.object));
  if (found !== undefined) return asBefore(found.object);
  return named?.length === 0 ? undefined : 'unknown';
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
