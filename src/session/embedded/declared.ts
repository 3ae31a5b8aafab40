import { WORKLOAD_KINDS } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';

/** An object of a manifest. Its fields are what the checkout says, so anything can be missing. */
export type Declared = KubeObject & { [field: string]: unknown };

export const CRD = 'CustomResourceDefinition';
/** The kinds of objects with Pods. */
export const WORKLOADS: readonly string[] = WORKLOAD_KINDS;
const WEBHOOK_CONFIGURATIONS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'];
/** devloop signs certificates itself. */
export const CERT_MANAGER = /^cert-manager\.io\//;
const BUILT_IN = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** kube-apiserver creates these itself. */
export function isBuiltInNamespace(name: string): boolean {
  return BUILT_IN.includes(name);
}

export function isWebhookConfiguration({ kind = '' }: Declared): boolean {
  return WEBHOOK_CONFIGURATIONS.includes(kind);
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
    const all = [...(isWebhookConfiguration(object) ? (webhooks ?? []) : []), conversion];
    return all.flatMap((one) => one?.clientConfig ?? []);
  });
}

/** `namespace/name` of the Services that webhooks and conversions call. */
export function calledServices(declared: readonly Declared[]): string[] {
  return clientConfigs(declared).flatMap(({ service }) => (service ? [keyOf(service)] : []));
}

export function keyOf({ namespace = 'default', name }: { namespace?: string; name: string }): string {
  return `${namespace}/${name}`;
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
