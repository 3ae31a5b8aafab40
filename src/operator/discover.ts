import type { CheckoutFacts } from '../checkout/facts.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { type ObjectRef, refOf } from '../cluster/api/kinds.ts';
import type { ApiService, Service } from '../cluster/api/objects.ts';
import { isSelectorless, originalSelector } from '../cluster/marks/selector.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import { shellWord, withNames } from '../phrases.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { calledByUrl } from '../report/notices/operator.ts';
import { findManager, hasPodsIn, otherServicesOf, withContainer } from './manager.ts';
import {
  isRegistered,
  type RankedService,
  rank,
  type UrlCall,
  urlCallsOfCheckout,
  withoutNeighbours,
} from './match.ts';
import { chooseAmong } from './rivals.ts';
import { apisOfCheckout, isOfApiServer, listApiServices, servedApis } from './served-apis.ts';
import { type Choice, DEPLOY, fullName, installed, readServices, WITHOUT_CLUSTER } from './services.ts';
import { lookBeside } from './siblings.ts';
import {
  type ChosenService,
  type OnUnusablePort,
  reportTarget,
  splitName,
  type Target,
  type TargetManager,
  type TargetNames,
  targetService,
} from './target.ts';
import { listConfigurations, listWebhookServices, type WebhookService } from './webhooks.ts';

export interface Discovery {
  api: ClusterApi;
  names: TargetNames;
  /** May still be loading, since the cluster is queried at the same time. */
  facts: CheckoutFacts | Promise<CheckoutFacts>;
  emit: Emit;
  /** Whether the API server has nothing but what the checkout declares, so that nothing there can belong to others. */
  isAlone?: boolean;
  /** Receives the error for a port that cannot be used; by default the error is thrown. */
  onUnusablePort?: OnUnusablePort;
}

/** Finds the operator in the cluster that belongs to the checkout, and reports how. */
export async function discover(discovery: Discovery): Promise<Target> {
  const { api, names, facts, emit, isAlone = false, onUnusablePort } = discovery;
  const apiServices = listApiServices(api);
  // If discovery fails first, nothing awaits these promises: their own failures must not count as unhandled.
  for (const loading of [apiServices, Promise.resolve(facts)]) loading.catch(() => {});
  const configurations = listConfigurations(api);
  const called = await listWebhookServices(api, facts, configurations);
  const listed = called.filter((one) => !isOfApiServer(one));
  const checkout = await facts;
  const listing = {
    apis: await apiServices,
    calls: called.filter(isOfApiServer).flatMap(({ calls }) => calls),
  };
  const elsewhere: Unroutable = {
    through: apisOfCheckout(listing, checkout),
    byUrl: urlCallsOfCheckout(await configurations, checkout),
  };
  const discovered = () => installed(api, rank(listed, checkout));
  const matching = await chooseServices(api, listed, names, checkout);
  const choices = isAlone && matching.length === 0 ? await declaredServices(api, listed, names) : matching;
  const chosen = await readServices({ api, named: names.services, emit, discovered }, choices);
  const located = await findManager(api, { listed, chosen, names, isAlone }, checkout);
  // If the user names Services, no other Service is taken over.
  if (located && names.services.length === 0)
    chosen.push(...(await otherServicesOf(api, located, { listed, chosen })));
  const manager = located && withContainer(located, chosen);
  const isNamed = names.services.length > 0 || names.deployment !== undefined;
  if (chosen.length === 0 && manager === undefined && checkout.declaresWebhooks && !isNamed)
    throw await noWebhook(api, { listed, checkout, names, elsewhere, isAlone });
  const own =
    names.services.length > 0
      ? chosen
      : chosen.filter((one) => belongsTo(manager, one.service, names.deployments ? ignore : emit));
  const namespace = chosen[0]?.service.metadata.namespace ?? names.namespace ?? api.namespace;
  const target: Target = {
    services: own.map((one) => targetService(one, manager, onUnusablePort ?? throwError)),
    ...(manager ? { manager, apis: await servedApis(api, manager, listing) } : {}),
    namespace: manager?.ref.namespace ?? namespace,
  };
  reportTarget(target, emit);
  reportUnroutable(elsewhere, target, emit);
  if (elsewhere.through.length === 0 && elsewhere.byUrl.length === 0)
    reportWebhooksOff({ listed, chosen }, checkout, target, emit);
  const surroundings = { ...listing, webhookServices: called, facts: checkout };
  return { ...target, reconcilers: await lookBeside({ api, names, emit }, target, surroundings) };
}

/** Reports nothing about a Service of another manager, because that manager's session takes it over. */
function ignore(): void {}

function throwError(error: DevloopError): never {
  throw error;
}

const IN_DIRECTORY = 'its webhooks are in this directory';
const DECLARED = 'the manifests of this checkout declare it';

async function chooseServices(
  api: ClusterApi,
  listed: WebhookService[],
  names: TargetNames,
  facts: CheckoutFacts,
): Promise<Choice[]> {
  if (names.services.length > 0)
    return names.services.map((name) => namedService(name, listed, names.namespace ?? api.namespace));
  const inNamespace = listed.filter(
    (one) => names.namespace === undefined || one.namespace === names.namespace,
  );
  const matching = rank(inNamespace, facts).filter(
    ({ namespace }) =>
      names.deployment === undefined || splitName(names.deployment, namespace).namespace === namespace,
  );
  const ranked = withoutNeighbours(await withoutDangling(api, matching), facts);
  const best = ranked[0];
  if (best === undefined) return [];
  // A rival may score lower: a second installation can be of an older version, or have another name than the checkout.
  const rivals = ranked.filter((one) => one.namespace !== best.namespace && one.certain === best.certain);
  const own = rivals.length === 0 ? best : await chooseAmong([best, ...rivals], facts);
  // Other matching Services of the same namespace belong to the same operator.
  return ranked
    .filter((one) => one.namespace === own.namespace)
    .map((one) => ({ webhooks: one, source: own === best ? (one.evidence[0] ?? '') : IN_DIRECTORY }));
}

/** The Services that webhooks call and that exist. */
async function declaredServices(
  api: ClusterApi,
  listed: WebhookService[],
  { namespace }: TargetNames,
): Promise<Choice[]> {
  const called = listed.filter((one) => namespace === undefined || one.namespace === namespace);
  return (await installed(api, called)).map((webhooks) => ({ webhooks, source: DECLARED }));
}

/**
 * A CRD can call a Service that nobody installed, such as the `system/webhook-service` of a scaffold. Such a Service is not a second
 * installation.
 */
async function withoutDangling(api: ClusterApi, ranked: RankedService[]): Promise<RankedService[]> {
  if (new Set(ranked.map(({ namespace }) => namespace)).size < 2) return ranked;
  const existing = await installed(api, ranked);
  return existing.length > 0 ? existing : ranked.slice(0, 1);
}

/** The user can also name a Service that no webhook calls yet. */
function namedService(text: string, listed: WebhookService[], defaultNamespace: string): Choice {
  const { namespace, name } = splitName(text, defaultNamespace);
  const alike = listed.filter((one) => one.name === name);
  const exact = alike.find((one) => one.namespace === namespace);
  const only = alike.length === 1 && !text.includes('/') ? alike[0] : undefined;
  return { webhooks: exact ?? only ?? { namespace, name, calls: [] }, source: 'named by you' };
}

/** Whether the Service belongs to the manager. A session runs one manager, so it cannot answer reviews for a Service of another one. */
function belongsTo(manager: TargetManager | undefined, service: Service, emit: Emit): boolean {
  if (manager === undefined || hasPodsIn(manager, originalSelector(service))) return true;
  // Without a selector, only the place of the Service can contradict that.
  if (isSelectorless(service) && service.metadata.namespace === manager.ref.namespace) return true;
  const values = { service: refOf('Service', service.metadata), manager: manager.ref };
  emit(notice('service.of-another', values));
  return false;
}

/** The calls to webhooks of the checkout that devloop cannot redirect: through an APIService, or by URL. */
interface Unroutable {
  through: ApiService[];
  byUrl: UrlCall[];
}

/** Reports webhooks that are called by URL, or through an API whose Pods the session does not pause. */
function reportUnroutable(
  { through, byUrl }: Unroutable,
  { manager, apis: own = [] }: Target,
  emit: Emit,
): void {
  if (byUrl.length > 0) {
    emit(notice('webhooks.by-url', { calls: named(byUrl), ...(manager && { manager: manager.ref }) }));
  }
  for (const { metadata, spec } of through) {
    if (own.some(({ name }) => name === metadata.name)) continue;
    const values = { api: refOf('APIService', metadata), service: refOf('Service', spec.service!) };
    emit(notice('webhooks.through-api', values));
  }
}

function named(calls: UrlCall[]): { from: ObjectRef; url: string }[] {
  return calls.map(({ from, url }) => ({ from, url: url.href }));
}

/**
 * Reports webhooks that nothing calls; a call through another Service of the cluster counts as a call. If the checkout declares no paths,
 * its webhooks count as on if a Service matches it, for example the Service of another manager.
 */
function reportWebhooksOff(
  { listed, chosen }: { listed: WebhookService[]; chosen: ChosenService[] },
  { markerPaths, manifestPaths, declaresWebhooks }: CheckoutFacts,
  { services, manager }: Target,
  emit: Emit,
): void {
  const called = new Set(listed.flatMap(({ calls }) => calls.map(({ path }) => path)));
  const declared = markerPaths.size > 0 ? markerPaths : manifestPaths;
  // The files of the checkout are read in no particular order.
  const off = [...declared].filter((path) => !called.has(path)).sort();
  const isAll = services.length === 0 && manager !== undefined && declaresWebhooks;
  const areAllOff = isAll && (off.length > 0 || (declared.size === 0 && chosen.length === 0));
  const areSomeOff = services.length > 0 && markerPaths.size > 0 && off.length > 0;
  if (areAllOff || areSomeOff) emit(notice('webhooks.off', { paths: off, areAll: areAllOff }));
}

interface Search {
  listed: WebhookService[];
  checkout: CheckoutFacts;
  names: TargetNames;
  elsewhere: Unroutable;
  isAlone: boolean;
}

async function noWebhook(
  api: ClusterApi,
  { listed: all, checkout: facts, names: { namespace }, elsewhere: { through, byUrl }, isAlone }: Search,
): Promise<DevloopError> {
  const listed = all.filter((one) => namespace === undefined || one.namespace === namespace);
  const everywhere = isAlone ? 'its manifests' : 'the cluster';
  const where = namespace === undefined ? everywhere : `namespace ${namespace}`;
  const groups = [...facts.groups].slice(0, 5).join(', ') || 'none found';
  const names = listed.slice(0, 8).map(fullName);
  const isOwn = (one: WebhookService): boolean => one.calls.some((call) => isRegistered(one, call, facts));
  const quoted = (await installed(api, listed.filter(isOwn))).map(fullName);
  const services = quoted.length > 0 ? quoted : ['NAMESPACE/NAME'];
  const apis = through.map(({ metadata }) => metadata.name);
  const called =
    apis.length > 0
      ? ` Its webhooks are called through ${withNames('APIService', apis)}, which cannot be routed here.`
      : '';
  const dialed = byUrl.length > 0 ? ` Its webhooks ${calledByUrl(named(byUrl))}` : '';
  return new DevloopError(
    'target.no-webhook',
    `This checkout declares webhooks (API groups: ${groups}), but no webhook Service in ${where} matches it, and no Deployment matches it by name. Webhook Services there: ${names.join(', ') || 'none'}.${called}${dialed}`,
    {
      hint: `${isAlone ? 'To name' : `${DEPLOY}\n${WITHOUT_CLUSTER}\nIf it is deployed, name`} its webhook Service: ${services.map((one) => `${AGAIN} --service ${shellWord(one)}`).join('\n')}\nIf its webhooks are off, name its Deployment: ${AGAIN} --deployment NAMESPACE/NAME\nIf it is to run without webhooks: devloop up --no-webhooks`,
    },
  );
}
