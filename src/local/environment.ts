import { type MountedPath, rewritePaths } from './mounts.ts';

export interface EnvironmentParts {
  inherited: Record<string, string | undefined>;
  /** The env of the Deployment's container, with every valueFrom resolved. */
  deployment: Record<string, string>;
  kubeconfig?: string;
  /** TMPDIR of the controller: controller-runtime looks for its certificate below it. */
  temporary?: string;
  paths: MountedPath[];
  /** Of the Pod, where the program would read it from a file that only Pods have. */
  namespace?: string | undefined;
}

/** What Kubernetes' own libraries and many operators read before that file, with the same meaning. */
const OWN_NAMESPACE = ['OPERATOR_NAMESPACE', 'POD_NAMESPACE'];

/** Where a Pod finds its own namespace. */
export const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** What describes the container and not the operator. */
const OF_THE_CONTAINER = new Set([
  'PATH',
  'HOME',
  'HOSTNAME',
  'PWD',
  'KUBECONFIG',
  'KUBERNETES_SERVICE_HOST',
  'KUBERNETES_SERVICE_PORT',
]);

/**
 * The inherited environment, over it the Deployment's, over that what devloop decides.
 *
 * A variable that only the user's shell sets is kept, as the user may mean it. ENABLE_WEBHOOKS=false (which `make run` of a
 * kubebuilder project uses) is the one that would make a take-over pointless, so it is kept but never silently.
 */
export function controllerEnvironment(parts: EnvironmentParts): {
  env: Record<string, string>;
  notes: string[];
} {
  const env: Record<string, string> = {};
  if (parts.namespace !== undefined) for (const name of OWN_NAMESPACE) env[name] = parts.namespace;
  for (const [name, value] of Object.entries(parts.inherited)) if (value !== undefined) env[name] = value;
  for (const [name, value] of Object.entries(parts.deployment)) {
    if (!OF_THE_CONTAINER.has(name)) env[name] = rewritePaths(value, parts.paths);
  }
  if (parts.kubeconfig !== undefined) env.KUBECONFIG = parts.kubeconfig;
  if (parts.temporary !== undefined) env.TMPDIR = parts.temporary;
  return { env, notes: notesOn(parts) };
}

function notesOn({ inherited, deployment }: EnvironmentParts): string[] {
  if (inherited.ENABLE_WEBHOOKS !== 'false' || 'ENABLE_WEBHOOKS' in deployment) return [];
  return [
    'ENABLE_WEBHOOKS=false comes from your shell, not from the Deployment: the controller will probably serve no webhooks. Unset it to serve them.',
  ];
}
