import { type Declared, isBuiltInNamespace, keyOf, WORKLOADS } from './declared.ts';

/** `kubectl create namespace` and `helm install --create-namespace` come before many manifests. */
export function missingNamespaces(objects: readonly Declared[]): Declared[] {
  const declared = objects.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name);
  const used = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
  return [...used]
    .filter((name) => !declared.includes(name) && !isBuiltInNamespace(name))
    .map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
}

const DEFAULT_ACCOUNT = 'default';

/** A cluster's controllers create this account in each namespace, and Pods work as it if they name none. */
export function missingAccounts(objects: readonly Declared[]): Declared[] {
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
