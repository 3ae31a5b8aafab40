/** The ConfigMaps and Secrets from which a container gets files and variables. */
import type { ObjectRef } from '../cluster/api/kinds.ts';
import type { Container } from '../cluster/api/workloads.ts';
import { describe } from '../report/object-name.ts';
import { projectedSources } from './downward.ts';
import type { MountPoint } from './volumes.ts';

export interface ConfigurationSource {
  ref: ObjectRef;
  /** Whether a Pod starts even without it. Then its files are gone when it is deleted, as in a Pod. */
  isOptional: boolean;
  /** Where its files are mounted. */
  paths: string[];
}

type Use = { kind: 'ConfigMap' | 'Secret'; name: string; optional?: boolean | undefined; path?: string };

export function configurationSources(
  container: Container,
  mounts: MountPoint[],
  namespace: string,
): ConfigurationSource[] {
  const uses = [...mounts.flatMap(usesOfMount), ...usesOfVariables(container)];
  const byObject = Map.groupBy(uses, ({ kind, name }) => describe({ kind, name }));
  return [...byObject.values()].map((same) => ({
    ref: { kind: same[0]!.kind, namespace, name: same[0]!.name },
    isOptional: same.every(({ optional }) => optional === true),
    paths: same.flatMap(({ path }) => path ?? []),
  }));
}

function usesOfMount({ path, volume }: MountPoint): Use[] {
  return projectedSources(volume).flatMap(({ secret, configMap }) => {
    const source = secret ?? configMap;
    const kind = secret ? 'Secret' : 'ConfigMap';
    return source === undefined ? [] : [{ kind, name: source.name, optional: source.optional, path }];
  });
}

function usesOfVariables({ env = [], envFrom = [] }: Container): Use[] {
  const references = [
    ...envFrom.map(({ configMapRef, secretRef }) => ({ configMap: configMapRef, secret: secretRef })),
    ...env.map(({ valueFrom }) => ({
      configMap: valueFrom?.configMapKeyRef,
      secret: valueFrom?.secretKeyRef,
    })),
  ];
  return references.flatMap(({ configMap, secret }): Use[] => [
    ...(configMap ? [{ ...configMap, kind: 'ConfigMap' as const }] : []),
    ...(secret ? [{ ...secret, kind: 'Secret' as const }] : []),
  ]);
}
