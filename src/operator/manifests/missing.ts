import type { Kustomizations } from './kustomizations.ts';
import type { ComparedObject, Manifest } from './read.ts';

/** What the cluster has for a manifest; `unknown` if that cannot be said. */
export interface LookedUp {
  manifest: Manifest;
  found: ComparedObject | 'unknown' | undefined;
}

/**
 * Whether an object that is not in the cluster would be there if the checkout had been deployed as it is now. A checkout also contains
 * what is optional, so another object has to prove it: one that was applied, and that arrives only together with this one.
 */
export function isMissing(
  { manifest, found }: LookedUp,
  all: LookedUp[],
  kustomizations: Kustomizations,
): boolean {
  if (found !== undefined || kustomizations.deletes) return false;
  return all.some(
    ({ manifest: other, found: there }) =>
      there !== undefined &&
      there !== 'unknown' &&
      // A CRD can be applied on its own.
      other.kind !== 'CustomResourceDefinition' &&
      isRenamed(other, there, kustomizations) &&
      isApplied(there) &&
      arriveTogether(other.file, manifest.file, kustomizations),
  );
}

/** A common name such as `leader-election-role` can also be another operator's. */
function isRenamed(
  { object }: Manifest,
  { metadata }: ComparedObject,
  { prefixes }: Kustomizations,
): boolean {
  return prefixes.length === 1 || metadata.name !== object.metadata.name;
}

/** As manifests, rather than from a chart or a bundle, which need not contain the same objects. */
function isApplied({ metadata: { annotations = {}, managedFields = [] } }: ComparedObject): boolean {
  if (annotations['meta.helm.sh/release-name'] !== undefined) return false;
  return (
    annotations['kubectl.kubernetes.io/last-applied-configuration'] !== undefined ||
    managedFields.some(({ operation }) => operation === 'Apply')
  );
}

/** One file is applied as a whole, and so is a kustomization. */
function arriveTogether(there: string, missing: string, { listing }: Kustomizations): boolean {
  if (there === missing) return true;
  const lists = listing(there);
  const others = new Set(listing(missing));
  return lists.length > 0 && lists.every((one) => others.has(one));
}
