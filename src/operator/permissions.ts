import { WORKLOAD_KINDS } from '../cluster/api/kinds.ts';
import { type Permission, permissionsOn } from '../cluster/api/permissions.ts';

/** What devloop reads to find the operator, and to plan its key pair, arguments and environment. */
export function discoveryPermissions(namespace: string): Permission[] {
  const why = 'find the webhooks';
  const later = {
    why: 'answer reviews of webhooks that are added later',
    without: 'reviews of webhooks that are added while devloop runs are refused',
  };
  return [
    ...permissionsOn('Namespace', 'get', {
      why: 'recognise a namespace that does not exist',
      without: 'a mistyped namespace is treated as an empty one',
    }),
    ...permissionsOn('Node', 'list', {
      why: 'recognise a cluster of kind, minikube or k3d',
      without: 'devloop asks before it changes such a cluster, too',
    }),
    ...permissionsOn('ValidatingWebhookConfiguration', 'list', { why }),
    ...permissionsOn('MutatingWebhookConfiguration', 'list', { why }),
    ...permissionsOn('ValidatingWebhookConfiguration', 'watch', later),
    ...permissionsOn('MutatingWebhookConfiguration', 'watch', later),
    ...permissionsOn('CustomResourceDefinition', 'get list', {
      why,
      without: 'conversion webhooks are not found',
    }),
    ...permissionsOn('CustomResourceDefinition', 'watch', {
      why: later.why,
      without: 'devloop answers conversions only on the path /convert',
    }),
    ...permissionsOn('APIService', 'list', {
      why: 'warn about APIs that the paused manager serves',
      without: 'devloop does not warn about APIs that the paused manager serves',
    }),
    ...comparePermissions(namespace),
    ...permissionsOn('Deployment', 'list', { namespace, why: 'find the in-cluster manager' }),
    ...WORKLOAD_KINDS.filter((kind) => kind !== 'Deployment').flatMap((kind) =>
      permissionsOn(kind, 'list', {
        namespace,
        why: 'find the in-cluster manager',
        without: `neither managers in ${kind}s nor sessions that paused one are found`,
      }),
    ),
    ...permissionsOn('Secret', 'get', { namespace, why: 'read the certificate' }),
    ...permissionsOn('Secret', 'list', {
      namespace,
      why: 'find the certificate',
      without: 'the certificate is found only where the manager mounts its Secret',
    }),
    ...permissionsOn('ConfigMap', 'get', {
      namespace,
      why: "read the manager's ConfigMaps",
      without: 'the controller runs without the variables and files from ConfigMaps',
    }),
    ...permissionsOn('ConfigMap', 'list watch', { namespace, ...followed('ConfigMaps') }),
    ...permissionsOn('Secret', 'watch', { namespace, ...followed('Secrets') }),
  ];
}

function followed(objects: string): { why: string; without: string } {
  return {
    why: `follow the manager's ${objects}`,
    without: `the controller does not see changes of ${objects} until the next devloop up`,
  };
}

function comparePermissions(namespace: string): Permission[] {
  const why = 'compare the roles of the checkout with the cluster';
  const without = 'devloop does not say how the roles of the checkout differ from the cluster';
  return [
    ...permissionsOn('ClusterRole', 'get', { why, without }),
    ...permissionsOn('Role', 'get', { namespace, why, without }),
  ];
}
