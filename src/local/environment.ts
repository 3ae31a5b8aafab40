import { type MountedPath, rewritePaths } from './mounts.ts';

export interface EnvironmentParts {
  inherited: Record<string, string | undefined>;
  /** The variables of the Deployment's container, with every valueFrom resolved. */
  deployment: Record<string, string>;
  kubeconfig?: string;
  /** The controller's TMPDIR: controller-runtime looks for its certificate under it. */
  temporary?: string;
  paths: MountedPath[];
  /** The Pod's namespace, set where the program would read it from a file that only Pods have. */
  namespace?: string | undefined;
}

/** Kubernetes' own libraries and many operators read these variables before that file. */
const OWN_NAMESPACE = ['OPERATOR_NAMESPACE', 'POD_NAMESPACE'];

/** The file in a Pod that holds its namespace. */
export const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** These describe the container, not the operator. */
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
 * The Deployment's variables override the inherited ones, and devloop's own override both.
 *
 * A variable that only the user's shell sets is kept, as it may be intended. ENABLE_WEBHOOKS=false, from `make run` in a
 * kubebuilder project, would make a take-over pointless, so it is kept with a warning.
 */
export function controllerEnvironment(parts: EnvironmentParts): {
  env: Record<string, string>;
  warnings: string[];
} {
  const env: Record<string, string> = {};
  if (parts.namespace !== undefined) for (const name of OWN_NAMESPACE) env[name] = parts.namespace;
  for (const [name, value] of Object.entries(parts.inherited)) if (value !== undefined) env[name] = value;
  for (const [name, value] of Object.entries(parts.deployment)) {
    if (!OF_THE_CONTAINER.has(name)) env[name] = rewritePaths(value, parts.paths);
  }
  if (parts.kubeconfig !== undefined) env.KUBECONFIG = parts.kubeconfig;
  if (parts.temporary !== undefined) env.TMPDIR = parts.temporary;
  return { env, warnings: warningsFor(parts) };
}

function warningsFor({ inherited, deployment }: EnvironmentParts): string[] {
  if (inherited.ENABLE_WEBHOOKS !== 'false' || 'ENABLE_WEBHOOKS' in deployment) return [];
  return [
    'Your shell sets ENABLE_WEBHOOKS=false and the Deployment does not, so the controller will probably serve no webhooks. Unset it to serve them.',
  ];
}
