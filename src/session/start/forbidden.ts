import type { IncomingHttpHeaders } from 'node:http';
import { type ApiCall, apiCall, type CalledResource } from '../../api-proxy/api-call.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import type { Forwarder } from '../../cluster/api/pass-on.ts';
import { deniedVerbs } from '../../cluster/api/service-account.ts';
import type { Work } from '../../cluster/work.ts';
import { grantingRoles, type WantedRule } from '../../operator/manifests/granting.ts';
import { readKustomizations } from '../../operator/manifests/kustomizations.ts';
import type { Manifest } from '../../operator/manifests/read.ts';
import { shellQuoted, shellWord } from '../../phrases.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Identity } from './identity.ts';

/** A loop is refused again and again. */
const TOLD_TIMES = new Set([1, 10, 100, 1_000, 10_000, 100_000]);
const MOST = 1_000;
const CHECK_MS = 10_000;

/** The checkout, and whether its program is written in Go. */
interface Place {
  root: string;
  isGo: boolean;
}

interface Refusal {
  wanted: Omit<CalledResource, 'version'>;
  /** The resource with its subresource, as RBAC writes it. */
  what: string;
  /** The verbs that the API server may have asked RBAC for. */
  asked: string[];
  /** How often the controller was refused this, this time included. */
  times: number;
}

/**
 * Says at once what the controller is not allowed to do and how to change that: a manager whose caches may not list exits after two minutes. The
 * API server itself is asked whether RBAC was the reason, because webhooks and policies refuse with the same status.
 */
export function noticeForbidden(
  { upstream, username }: Pick<Identity, 'upstream' | 'username'>,
  at: Place & Pick<Work, 'api' | 'emit' | 'signal'>,
): Forwarder {
  const counts = new Map<string, { times: number; told: Promise<void> }>();
  const refused = (call: ApiCall, method: string): void => {
    const { resource } = call;
    if (resource === undefined) return;
    const { version: _, ...wanted } = resource;
    const what = wanted.subresource ? `${wanted.resource}/${wanted.subresource}` : wanted.resource;
    const asked = verbsOf(call, method);
    const key = `${asked.join()} ${what}.${wanted.group} ${wanted.namespace ?? ''}`;
    const { times: before, told } = counts.get(key) ?? { times: 0, told: Promise.resolve() };
    if (before === 0 && counts.size === MOST) return;
    const times = before + 1;
    // Nothing depends on it: what the API server answered goes to the controller in any case.
    const tell = () => say({ wanted, what, asked, times }).catch(() => {});
    // A loop may be refused ten times before the first was looked into; they are said in their order.
    counts.set(key, { times, told: TOLD_TIMES.has(times) ? told.then(tell) : told });
  };
  const say = async ({ wanted, what, asked, times }: Refusal): Promise<void> => {
    const account = username();
    const limit = AbortSignal.any([at.signal, AbortSignal.timeout(CHECK_MS)]);
    const verbs = await deniedVerbs(upstream, wanted, asked, limit);
    if (verbs.length === 0) return;
    const rule = { group: wanted.group, resource: what, verbs };
    const cure = account === undefined ? {} : await cureFor(rule, at);
    const { namespace, name } = wanted;
    at.emit(notice('api.forbidden', { ...rule, namespace, name, account, times, ...cure }));
  };
  const observe = (
    { statusCode }: { statusCode?: number | undefined },
    request: { method: string; path: string; headers: IncomingHttpHeaders },
    isUpgrade: boolean,
  ): void => {
    if (statusCode !== 403) return;
    const { method, path: url, headers } = request;
    // Then it was another account that was refused.
    if (Object.keys(headers).some((name) => name.startsWith('impersonate-'))) return;
    const call = apiCall({ method, url, contentType: headers['content-type'] }, isUpgrade);
    refused(call, method);
  };
  return {
    async forward(request) {
      const answer = await upstream.forward(request);
      observe(answer, request, false);
      return answer;
    },
    async forwardUpgrade(request) {
      const answered = await upstream.forwardUpgrade(request);
      observe(answered.answer, request, true);
      return answered;
    },
  };
}

/** The verbs of RBAC that the API server may have asked for. A cache needs both `list` and `watch`, and asks for one after the other. */
function verbsOf({ verb }: ApiCall, method: string): string[] {
  if (verb === 'list' || verb === 'watch') return ['list', 'watch'];
  // An apply, and an update of some kinds, creates what does not exist.
  if (verb === 'apply') return ['patch', 'create'];
  if (verb === 'update') return ['update', 'create'];
  return [verb === 'connect' ? (method === 'GET' ? 'get' : 'create') : verb];
}

interface Cure {
  /** The line for controller-gen. Absent if the checkout's roles are not generated from such lines. */
  marker?: string;
  /** The rule as YAML. */
  yaml: string;
  /** The file of the checkout that has the rule already. */
  file?: string;
  /** The command that adds the rule to the role in the cluster, if that is known. */
  command?: string;
}

async function cureFor(rule: WantedRule, { root, isGo, api }: Place & Pick<Work, 'api'>): Promise<Cure> {
  const { roles, allowing } = await grantingRoles(root, rule);
  const isGenerated = isGo && roles.some(({ file }) => file.startsWith('config/'));
  const command = await patchCommand(rule, [allowing ?? [], roles.slice(0, 1)].flat()[0], root, api);
  return {
    yaml: yamlOf(rule),
    ...(isGenerated && { marker: markerOf(rule) }),
    ...(allowing && { file: allowing.file }),
    ...(command !== undefined && { command }),
  };
}

function markerOf({ group, resource, verbs }: WantedRule): string {
  return `// +kubebuilder:rbac:groups=${group || '""'},resources=${resource},verbs=${verbs.join(';')}`;
}

function yamlOf({ group, resource, verbs }: WantedRule): string {
  return `- {apiGroups: [${group || '""'}], resources: [${resource}], verbs: [${verbs.join(', ')}]}`;
}

/** Adds the rule to the role, under the name that kustomize has given to it. Only for a ClusterRole: where else a Role is, is not known. */
async function patchCommand(
  { group, resource, verbs }: WantedRule,
  role: Manifest | undefined,
  root: string,
  api: ClusterApi,
): Promise<string | undefined> {
  if (role?.kind !== 'ClusterRole') return undefined;
  const { prefixes } = await readKustomizations(root);
  const value = { apiGroups: [group], resources: [resource], verbs };
  const patch = JSON.stringify([{ op: 'add', path: '/rules/-', value }]);
  for (const prefix of prefixes) {
    const name = `${prefix}${role.object.metadata.name}`;
    const found = await api.get({ kind: 'ClusterRole', name }).catch(undefinedIfForbidden);
    if (found === undefined) continue;
    const context = `kubectl --context ${shellWord(api.context)}`;
    return `${context} patch clusterrole ${shellWord(name)} --type=json -p ${shellQuoted(patch)}`;
  }
  return undefined;
}
