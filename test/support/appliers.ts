/** How others write to an object that devloop has changed, field by field as the real programs do. */
import { isDeepStrictEqual } from 'node:util';
import type { Service } from '../../src/cluster/api/objects.ts';
import type { Workload } from '../../src/cluster/api/workloads.ts';

/** The fields of a manifest that devloop changes, too. */
export interface Manifest {
  selector: Record<string, string>;
  replicas?: number;
}

type Applied = Service & Workload;

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Client-side `kubectl apply`, and Helm 3: what was in the last manifest and is not in this one is deleted, what this one names is set, and
 * everything else stays.
 */
export function kubectlApply(live: Applied, manifest: Manifest): Applied {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  const last: Manifest = text === undefined ? { selector: {} } : JSON.parse(text);
  const selector = { ...live.spec.selector };
  for (const key of Object.keys(last.selector))
    if (!Object.hasOwn(manifest.selector, key)) delete selector[key];
  Object.assign(selector, manifest.selector);
  const { replicas: now, ...spec } = live.spec;
  const replicas = manifest.replicas ?? (last.replicas === undefined ? now : 1);
  return {
    ...live,
    metadata: {
      ...live.metadata,
      annotations: { ...live.metadata.annotations, [LAST_APPLIED]: JSON.stringify(manifest) },
    },
    spec: { ...spec, selector, ...(replicas === undefined ? {} : { replicas }) } as Applied['spec'],
  };
}

/** `kubectl replace`, `helm upgrade --force`: nothing of the object stays, not even labels and annotations. */
export function replaced(live: Applied, manifest: Manifest): Applied {
  const { name, namespace } = live.metadata;
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  return { metadata, spec: { selector: manifest.selector, replicas: manifest.replicas ?? 1 } } as Applied;
}

/** The merge patch of a client that has read `before` and wants `after`. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (!isMap(before) || !isMap(after)) return after;
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...keys].filter((key) => !isDeepStrictEqual(before[key], after[key]));
  return Object.fromEntries(changed.map((key) => [key, mergePatch(before[key], after[key]) ?? null]));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
