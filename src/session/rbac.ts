import { delimiter } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readNeeds, type SessionNeeds } from '../calls/needs-file.ts';
import { Checkout } from '../checkout/files.ts';
import { type ClusterApi, connect } from '../cluster/api/client.ts';
import { loadKubeconfig } from '../cluster/api/kubeconfig.ts';
import { DevloopError, messageOf } from '../errors.ts';
import { languageOf } from '../languages.ts';
import { checkoutRoles, grantOf } from '../operator/manifests/granting.ts';
import { clusterGrants } from '../operator/rbac/bound.ts';
import { missingRules, type Roles, writtenRoles } from '../operator/rbac/missing.ts';
import { broadRules, unseenRules } from '../operator/rbac/unused.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { MissingRule, RbacCure, RoleName } from '../report/rbac.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import type { Io } from './context/options.ts';
import { sessionHere } from './context/session-here.ts';
import { cureFor, type Place } from './start/cure.ts';

export interface RbacOptions {
  /** The id of a session on this machine; by default, that of this checkout's session. */
  session?: string;
}

/** What the calls of a session on this machine needed, compared with the roles in the cluster and in the checkout. Changes nothing. */
export async function rbac({ session }: RbacOptions, io: Io): Promise<void> {
  const { id, checkout: root, directory } = await sessionHere(io, { wanted: session, allowsCrashed: true });
  const needed = await readNeeds(directory);
  if (needed === undefined || needed.calls === 0) return io.emit(notice('rbac.none', { session: id }));
  await using api = await openCluster(needed, io).catch((error) => noteUnread(error, io));
  const reading = api && clusterGrants(api, needed.account!).catch((error) => noteUnread(error, io));
  const [own, grants] = await Promise.all([
    checkoutRoles(root, needed.account?.name),
    reading && unlessInterrupted(reading, io.signal),
  ]);
  const isGo = (await languageOf(new Checkout(root)))?.name === 'Go';
  for (const what of needed.cut ?? []) io.emit(notice('rbac.cut', { what }));
  const { templates } = own;
  if (own.roles.length === 0) io.emit(notice('rbac.no-checkout-roles', { templates }));
  else if (templates.length > 0) io.emit(notice('rbac.templates-not-read', { templates }));
  const owner = needed.account ?? needed;
  const { roles, hasOthers } = own;
  const compared: Roles = {
    ...{ cluster: grants, hasOthers },
    checkout: roles.map((role) => grantOf(role, owner.namespace)),
  };
  await report(
    { ...needed, session: id },
    compared,
    { root, isGo, roles, owner, env: io.env, ...(grants && api && { api }) },
    io,
  );
}

async function report(
  { session, since, calls, account, needs }: SessionNeeds & { session: string },
  roles: Roles,
  place: Omit<Place, 'namespace'>,
  { emit }: Io,
): Promise<void> {
  const cluster = roles.cluster?.filter(({ isOwn }) => isOwn);
  const missing = missingRules(needs, roles);
  emit({
    ...{ type: 'rbac.compared', session, since, calls },
    ...(account && { account }),
    ...(cluster && { cluster: namesOf(cluster) }),
    ...{ checkout: namesOf(roles.checkout), missing: missing.length },
  });
  const written = writtenRoles(needs);
  if (written.length > 0) emit(notice('rbac.writes-roles', { resources: written }));
  for (const rule of missing) emit({ type: 'rbac.missing', ...rule, cure: await cureOf(rule, place) });
  const judged = [...(cluster ?? []), ...roles.checkout];
  for (const rule of unseenRules(needs, judged)) emit({ type: 'rbac.unseen', ...rule });
  for (const rule of broadRules(needs, judged)) emit({ type: 'rbac.broad', ...rule });
}

/** One in several namespaces is added for the whole cluster. */
async function cureOf(rule: MissingRule, place: Omit<Place, 'namespace'>): Promise<RbacCure> {
  const { cluster, verbs, namespaces = [], names, group, resource, path } = rule;
  const { api, ...rest } = place;
  const subject = path === undefined ? { group: group!, resource: resource! } : { path };
  const wanted = { ...subject, verbs, ...(names && { names }) };
  const namespace = namespaces.length === 1 ? namespaces[0] : undefined;
  return await cureFor(wanted, { ...rest, namespace, ...(cluster !== 'granted' && api ? { api } : {}) });
}

/** As the session did, whatever kubeconfig this terminal has. Undefined if nothing there can be compared. */
async function openCluster({ account, cluster }: SessionNeeds, io: Io): Promise<ClusterApi | undefined> {
  const notRead = (cause: string): undefined => void io.emit(notice('rbac.cluster-not-read', { cause }));
  if (account === undefined)
    return notRead('no manager was found there when the session began, so its ServiceAccount is not known');
  const { context, server, kubeconfig } = cluster;
  const isInPod = kubeconfig.length === 0;
  const env = isInPod ? io.env : { ...io.env, KUBECONFIG: kubeconfig.join(delimiter) };
  const selected = await loadKubeconfig(isInPod ? {} : { context }, env, io.cwd);
  const onLine = (line: string): void => io.emit(notice('login.output', { line }));
  const api = await connect(selected, { onLine, ...(io.terminal ? { terminal: io.terminal } : {}) });
  if (api.server === server) return api;
  await api[Symbol.asyncDispose]();
  return notRead(`context ${context} is now at ${api.server}, and not at ${server} as in the session`);
}

/** The checkout can be compared all the same. */
function noteUnread(error: unknown, { emit }: Io): undefined {
  if (!(error instanceof DevloopError)) throw error;
  emit(notice('rbac.cluster-not-read', { cause: messageOf(error) }));
}

function namesOf(grants: Roles['checkout']): RoleName[] {
  const names = grants.map(({ role }) => role);
  return names.filter((one, at) => names.findIndex((other) => isDeepStrictEqual(one, other)) === at);
}
