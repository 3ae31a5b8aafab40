import { type MountedPath, rewritePaths } from './mounts.ts';

export interface EnvironmentParts {
  inherited: Record<string, string | undefined>;
  /** The variables that the controller gets from the Deployment's container and from its image. */
  deployment: Record<string, string>;
  /** The variables that devloop.yaml names. */
  named?: Record<string, string>;
  kubeconfig?: string;
  /** The controller's TMPDIR: controller-runtime looks for its certificate below it. */
  temporary?: string;
  paths: MountedPath[];
  /** The variables by which a program in a Pod finds the API server. */
  connection?: Record<string, string> | undefined;
  /** The Pod's namespace, set if the program would read it from a file that only Pods have. */
  namespace?: string | undefined;
}

/** Kubernetes' own libraries and many operators read these variables before they read NAMESPACE_FILE. */
const OWN_NAMESPACE = ['OPERATOR_NAMESPACE', 'POD_NAMESPACE'];

/** The file in a Pod that contains its namespace. */
export const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

export interface LocalEnvironment {
  env: Record<string, string>;
  /** The variables of the user's shell with which the controller probably serves no webhooks. */
  noWebhooks: Record<string, string>;
}

/**
 * The Deployment's variables override the inherited ones, those of devloop.yaml override both, and devloop's own override all, except those
 * with the namespace, which are only defaults.
 *
 * A variable that only the user's shell sets is kept, because it may be intended. ENABLE_WEBHOOKS=false, from `make run` in a kubebuilder
 * project, makes a take-over pointless, so it causes a warning.
 */
export function controllerEnvironment(parts: EnvironmentParts): LocalEnvironment {
  const { inherited, deployment, named = {}, paths } = parts;
  const env: Record<string, string> = {};
  if (parts.namespace !== undefined) for (const name of OWN_NAMESPACE) env[name] = parts.namespace;
  for (const [name, value] of Object.entries(inherited)) if (value !== undefined) env[name] = value;
  Object.assign(env, deployment);
  for (const [name, value] of Object.entries(named)) env[name] = rewritePaths(value, paths);
  if (parts.kubeconfig !== undefined) env.KUBECONFIG = parts.kubeconfig;
  Object.assign(env, parts.connection);
  if (parts.temporary !== undefined) env.TMPDIR = parts.temporary;
  return { env, noWebhooks: noWebhooks(parts) };
}

/** The variables of the user's shell that turn webhooks off. */
function noWebhooks({ inherited, deployment, named = {} }: EnvironmentParts): Record<string, string> {
  const { ENABLE_WEBHOOKS: value } = inherited;
  const isOn = value !== 'false' || 'ENABLE_WEBHOOKS' in { ...deployment, ...named };
  return isOn ? {} : { ENABLE_WEBHOOKS: value };
}
