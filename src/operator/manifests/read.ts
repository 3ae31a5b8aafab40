import { relative } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { manifestFiles, type SourceText } from '../../checkout/files.ts';
import { isWebhookKind } from '../../cluster/api/kinds.ts';
import type {
  CustomResourceDefinition,
  KubeObject,
  WebhookConfiguration,
} from '../../cluster/api/objects.ts';
import type { PolicyRule } from './rules.ts';

/** What decides which reviews the API server sends to a manager, which fields it keeps, and what the manager is allowed to do. */
const COMPARED_KINDS = [
  'CustomResourceDefinition',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
  'ClusterRole',
  'Role',
] as const;
type ComparedKind = (typeof COMPARED_KINDS)[number];

export type ComparedObject = {
  metadata: Pick<KubeObject['metadata'], 'name' | 'namespace' | 'annotations' | 'managedFields'>;
} & Partial<Pick<CustomResourceDefinition, 'spec'> & Pick<WebhookConfiguration, 'webhooks'>> & {
    rules?: PolicyRule[] | null;
  };

/** One object that a file of the checkout declares. */
export interface Manifest {
  /** Relative to the root of the checkout. */
  file: string;
  kind: ComparedKind;
  object: ComparedObject;
}

export interface Manifests {
  manifests: Manifest[];
  /** Files with such objects that are templates of a chart: their text depends on the values of a release. */
  templates: string[];
}

const DECLARES = new RegExp(`^[ \\t]*kind:[ \\t]*["']?(?:${COMPARED_KINDS.join('|')})["']?[ \\t]*\\r?$`, 'm');
const TEMPLATE = /\{\{/;

/**
 * The CRDs, webhook configurations and roles of a checkout, as its files declare them. If several files declare the same object, the one
 * that kubebuilder generates counts, or else the first.
 */
export async function readManifests(root: string): Promise<Manifests> {
  const found = new Map<string, Manifest>();
  const templates: string[] = [];
  for (const { path, text } of byOrigin(await manifestFiles(root, DECLARES))) {
    const name = relative(root, path);
    if (TEMPLATE.test(text)) templates.push(name);
    else
      for (const manifest of await manifestsIn(name, text)) {
        const key = `${manifest.kind} ${manifest.object.metadata.name}`;
        if (!found.has(key)) found.set(key, manifest);
      }
  }
  return { manifests: [...found.values()], templates: templates.sort() };
}

/** The objects in the text of one file. */
export async function manifestsIn(file: string, text: string): Promise<Manifest[]> {
  const { parseAllDocuments } = await import('yaml');
  const found: Manifest[] = [];
  for (const part of text.split(/^---.*$/m).filter((one) => DECLARES.test(one))) {
    // A CRD can take a tenth of a second, in which a running session answers no review.
    await setImmediate();
    const read = parseAllDocuments(part).filter(({ errors }) => errors.length === 0);
    found.push(...read.map((one) => asManifest(file, readDocument(one))).filter((one) => one !== undefined));
  }
  return found;
}

/** `config/` is where controller-gen writes; everything else may be a copy of an earlier version. */
function byOrigin(files: SourceText[]): SourceText[] {
  const rank = ({ path }: SourceText): number => (/\/config\//.test(path) ? 0 : 1);
  return files.sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}

/** Undefined if its aliases cannot be resolved. */
export function readDocument(document: { toJS(): unknown }): unknown {
  try {
    return document.toJS();
  } catch {
    return undefined;
  }
}

/** Undefined for what is no such object, such as a file that is being written, or a patch without the part that is compared. */
function asManifest(file: string, value: unknown): Manifest | undefined {
  const { kind, metadata } = (value ?? {}) as { kind?: unknown; metadata?: { name?: unknown } };
  const known = COMPARED_KINDS.find((one) => one === kind);
  if (known === undefined || typeof metadata?.name !== 'string') return undefined;
  const object = value as ComparedObject;
  return isComplete(known, object) ? { file, kind: known, object } : undefined;
}

function isComplete(kind: ComparedKind, { spec, webhooks, rules }: ComparedObject): boolean {
  if (kind === 'CustomResourceDefinition')
    return isListOf(spec?.versions, (one) => isObject(one) && isObject(one.schema));
  if (!isWebhookKind(kind)) return isListOf(rules ?? [], isPolicyRule);
  return isListOf(
    // Without any, it is a file that is being written.
    webhooks?.length === 0 ? undefined : webhooks,
    (one) => isObject(one) && isObject(one.clientConfig) && isListOf(one.rules ?? [], isObject),
  );
}

function isPolicyRule(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = value;
  return [verbs, apiGroups, resources, resourceNames, nonResourceURLs].every((one) => isListOf(one, isText));
}

function isListOf(value: unknown, fits: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

const isText = (value: unknown): boolean => typeof value === 'string';

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
