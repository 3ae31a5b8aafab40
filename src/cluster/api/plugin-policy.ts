import { readFile } from 'node:fs/promises';
import { basename, join, normalize } from 'node:path';
import { messageOf } from '../../errors.ts';
import { homeDirectory } from '../../machine/account.ts';
import { findProgram } from '../../machine/find-program.ts';
import { parseYamlDocuments } from './yaml-as-in-go.ts';

type Env = Record<string, string | undefined>;

/** What the user's kuberc says about credential plugins. */
interface Policy {
  type: 'AllowAll' | 'DenyAll' | 'Allowlist';
  /** Names and paths. */
  allowed: string[];
}

const ALL: Policy = { type: 'AllowAll', allowed: [] };
const VERSION = 'kubectl.config.k8s.io/v1beta1';

/** kubectl refuses the user's kuberc. */
export class KubercError extends Error {
  readonly file: string;
  constructor(file: string, cause: unknown) {
    super(messageOf(cause));
    this.file = file;
  }
}

/** Why the user's kuberc does not allow a plugin; undefined if it does. Rejects with KubercError. */
export async function refusalOf(command: string, path: string, env: Env): Promise<string | undefined> {
  const policy = await policyOf(env);
  if (policy.type === 'AllowAll' || isListed(policy, command, path, env)) return undefined;
  return `the credentialPluginPolicy of kuberc is ${policy.type}, which does not allow it`;
}

function isListed({ type, allowed }: Policy, command: string, path: string, env: Env): boolean {
  if (type !== 'Allowlist') return false;
  if (allowed.includes(command) || allowed.includes(path)) return true;
  return allowed.some((entry) => {
    if (basename(entry) !== basename(path)) return false;
    const found = findProgram(entry, env.PATH);
    return 'path' in found && found.path === path;
  });
}

/** As in kubectl, a broken kuberc counts only if a variable names it, but a policy that makes no sense always does. */
async function policyOf(env: Env): Promise<Policy> {
  if (env.KUBERC === 'off' || env.KUBECTL_KUBERC === 'false') return ALL;
  const isNamed = !!env.KUBERC;
  const file = env.KUBERC || join(homeDirectory(env), '.kube', 'kuberc');
  let preference: Record<string, unknown> | undefined;
  try {
    preference = preferenceIn(await readFile(file, 'utf8'));
  } catch (error) {
    if (isNamed) throw new KubercError(file, error);
    return ALL;
  }
  try {
    return preference === undefined ? ALL : valid(preference);
  } catch (error) {
    throw new KubercError(file, error);
  }
}

function preferenceIn(text: string): Record<string, unknown> | undefined {
  const documents = parseYamlDocuments(text).filter((one) => one != null) as Record<string, unknown>[];
  const found = documents.find(
    ({ apiVersion, kind }) =>
      kind === 'Preference' && String(apiVersion).startsWith('kubectl.config.k8s.io/'),
  );
  if (documents.length > 0 && found === undefined) throw new Error('it contains no Preference');
  // Older versions have no policy.
  return found?.apiVersion === VERSION ? found : undefined;
}

function valid({ credentialPluginPolicy, credentialPluginAllowlist }: Record<string, unknown>): Policy {
  const type = credentialPluginPolicy || 'AllowAll';
  const list = credentialPluginAllowlist as { command?: unknown; name?: unknown }[] | null;
  if (type === 'AllowAll' || type === 'DenyAll') {
    if (list == null) return { type, allowed: [] };
    throw new Error(`credentialPluginPolicy is ${type}, and there is a credentialPluginAllowlist`);
  }
  if (type !== 'Allowlist') throw new Error('credentialPluginPolicy is unknown');
  if (!Array.isArray(list) || list.length === 0) throw new Error('credentialPluginAllowlist is empty');
  const allowed = list.map(({ command, name }) => command ?? name);
  const isClean = (one: unknown): one is string =>
    typeof one === 'string' && one !== '' && normalize(one) === one;
  if (allowed.every(isClean)) return { type, allowed };
  throw new Error('an entry of credentialPluginAllowlist has no command, or one that is not a clean path');
}
