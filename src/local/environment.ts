import { type MountedPath, rewritePaths } from './mounts.ts';
import { isUnsafe } from './unsafe-variables.ts';

export interface EnvironmentParts {
  inherited: Record<string, string | undefined>;
  /** The variables of the Deployment's container, with every valueFrom resolved. */
  deployment: Record<string, string>;
  /** The variables that devloop.yaml names. */
  named?: Record<string, string>;
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

export interface LocalEnvironment {
  env: Record<string, string>;
  warnings: string[];
  /** Variables of the Deployment that the controller does not get, because they could run other code on this machine. */
  dropped: string[];
}

/**
 * The Deployment's variables override the inherited ones, those of devloop.yaml override both, and devloop's own override all. What can
 * run other code is taken from the user (the shell, devloop.yaml), but not from the cluster.
 *
 * A variable that only the user's shell sets is kept, as it may be intended. ENABLE_WEBHOOKS=false, from `make run` in a
 * kubebuilder project, would make a take-over pointless, so it is kept with a warning.
 */
export function controllerEnvironment(parts: EnvironmentParts): LocalEnvironment {
  const { inherited, deployment, named = {}, paths } = parts;
  const env: Record<string, string> = {};
  if (parts.namespace !== undefined) for (const name of OWN_NAMESPACE) env[name] = parts.namespace;
  for (const [name, value] of Object.entries(inherited)) if (value !== undefined) env[name] = value;
  for (const [name, value] of Object.entries(deployment)) {
    if (!OF_THE_CONTAINER.has(name) && !isUnsafe(name)) env[name] = rewritePaths(value, paths);
  }
  for (const [name, value] of Object.entries(named)) env[name] = rewritePaths(value, paths);
  if (parts.kubeconfig !== undefined) env.KUBECONFIG = parts.kubeconfig;
  if (parts.temporary !== undefined) env.TMPDIR = parts.temporary;
  return { env, warnings: warningsFor(parts), dropped: droppedFrom(parts) };
}

function droppedFrom({ deployment, named = {} }: EnvironmentParts): string[] {
  return Object.keys(deployment).filter(
    (name) => isUnsafe(name) && !OF_THE_CONTAINER.has(name) && !(name in named),
  );
}

function warningsFor({ inherited, deployment, named = {} }: EnvironmentParts): string[] {
  if (inherited.ENABLE_WEBHOOKS !== 'false' || 'ENABLE_WEBHOOKS' in { ...deployment, ...named }) return [];
  return [
    'Your shell sets ENABLE_WEBHOOKS=false and the Deployment does not, so the controller will probably serve no webhooks. Unset it to serve them.',
  ];
}
