import type { CheckoutFacts } from '../checkout/facts.ts';
import { type ObjectRef, refOf } from '../cluster/api/kinds.ts';
import type { Configuration, WebhookCall, WebhookService } from './webhooks.ts';

/** A webhook Service that may belong to the checkout. */
export interface RankedService extends WebhookService {
  /** Why it matches, for display; the best reason first. */
  evidence: string[];
  /** Whether it matches by what it serves, and not merely by its name and a path that other operators also serve. */
  certain: boolean;
  score: number;
}

/**
 * Paths that many operators serve, so they prove nothing on their own. The last two lines come from knative's packages and from servers in
 * general.
 */
const COMMON_PATHS = new Set(
  `/ /convert /mutate /validate /webhook /webhooks /admit /admission /mutating /validating
  /inject /mutate-pod /mutate-pods /validate-pod /validate-pods /mutation /validation /conversion
  /defaulting /resource-validation /config-validation /resource-conversion
  /health /healthz /readyz /metrics`.split(/\s+/),
);

/** Kubernetes' own API groups, as they are written in paths. Not every name that ends in k8s.io is one: x-k8s.io is for projects. */
const BUILT_IN_GROUPS = [
  ...`core apps batch autoscaling policy extensions networking-k8s-io storage-k8s-io
  rbac-authorization-k8s-io admissionregistration-k8s-io apiextensions-k8s-io apiregistration-k8s-io
  authentication-k8s-io authorization-k8s-io certificates-k8s-io coordination-k8s-io discovery-k8s-io
  events-k8s-io flowcontrol-apiserver-k8s-io node-k8s-io resource-k8s-io scheduling-k8s-io`.split(/\s+/),
].join('|');

/**
 * Paths for kinds of Kubernetes' own groups prove nothing either: /mutate--v1-pod, /mutate-v1-pod, /validate-apps-v1-deployment. A path
 * without a group matches only with v1, the core group's only version, since operators also omit their own group.
 */
export const BUILT_IN_PATH = new RegExp(`^/(?:mutate|validate)-(?:-?v1-|(?:${BUILT_IN_GROUPS})-v\\d\\w*-)`);

/** The groups that belong to no project, as they are written in paths. */
const BUILT_IN = new Set(['', '*', ...BUILT_IN_GROUPS.split('|')]);

function isShared(path: string): boolean {
  return COMMON_PATHS.has(path) || BUILT_IN_PATH.test(path);
}

/**
 * The matching Services, the best first. Taking over somebody else's operator would be worse than finding none. So a rule for a group of
 * this checkout proves nothing, since policy engines have such rules, and neither does a path in a bundled manifest. The sources have to
 * serve a path of the Service, define a kind that the Service converts, or name both the Service and a configuration that calls it for a
 * kind that they define.
 */
export function rank(services: WebhookService[], facts: CheckoutFacts): RankedService[] {
  return services
    .map((service) => judge(service, facts))
    .filter(({ score }) => score > 0)
    .sort(
      (a, b) => Number(b.certain) - Number(a.certain) || b.score - a.score || a.name.localeCompare(b.name),
    );
}

function judge(service: WebhookService, facts: CheckoutFacts): RankedService {
  const paths = pathsOf(service.calls);
  const names = [...facts.names].filter(
    (name) => isPart(name, service.namespace) || isPart(name, service.name),
  );
  const served = paths.filter((path) => isServed(path, facts));
  const converted = service.calls.filter(
    ({ from, groups }) => from.kind === 'CustomResourceDefinition' && facts.groups.has(groups[0]!),
  );
  const registered = service.calls.filter(
    (call) => isRegistered(service, call, facts) && call.groups.some((group) => facts.groups.has(group)),
  );
  const shared = paths.filter(
    (path) => !served.includes(path) && (facts.manifestPaths.has(path) || facts.paths.has(path)),
  );
  const certain = served.length + converted.length + registered.length;
  const proof = certain * 4 + (names.length > 0 ? shared.length * 2 : 0);
  return {
    ...service,
    evidence: [
      ...served.slice(0, 2).map((path) => `path ${path} is in this checkout`),
      ...converted.slice(0, 1).map(({ from }) => `converts ${from.name}, which this checkout defines`),
      ...registered
        .slice(0, 1)
        .map(({ from }) => `this checkout registers ${from.name} for a kind that it defines`),
      ...names.slice(0, 1).map((name) => `its name matches this checkout (${name})`),
    ],
    certain: certain > 0,
    score: proof > 0 ? proof + Math.min(names.length, 1) : 0,
  };
}

/**
 * Leaves out the Services of other operators that review the same kinds. For example, an operator that queues jobs and an operator that
 * defines them match each other's checkouts. A Service belongs to another operator if it reviews no kind that the checkout defines, or if
 * it reviews foreign kinds at paths that the checkout does not know; but a criterion that all Services meet does not count.
 */
export function withoutNeighbours(ranked: RankedService[], facts: CheckoutFacts): RankedService[] {
  const certain = ranked.filter((one) => one.certain);
  const own = someOrAll(
    someOrAll(certain, ({ calls }) =>
      calls.some(({ groups }) => groups.some((one) => facts.groups.has(one))),
    ),
    ({ calls }) => !calls.some((call) => isForeign(call, facts)),
  );
  // The other Services in the same namespaces belong to the same operator.
  const namespaces = new Set(own.map(({ namespace }) => namespace));
  return someOrAll(ranked, ({ namespace }) => namespaces.has(namespace));
}

function someOrAll<T>(all: T[], isWanted: (one: T) => boolean): T[] {
  const some = all.filter(isWanted);
  return some.length > 0 ? some : all;
}

/** Kubernetes' own kinds prove nothing: a second installation can be of a version that reviewed more of them. */
function isForeign({ path, groups }: WebhookCall, facts: CheckoutFacts): boolean {
  const isOthers = (group: string): boolean =>
    !facts.groups.has(group) && !BUILT_IN.has(group.replaceAll('.', '-'));
  return (
    !isShared(path) &&
    !isServed(path, facts) &&
    !facts.manifestPaths.has(path) &&
    groups.length > 0 &&
    groups.every(isOthers)
  );
}

/**
 * Whether the sources name the Service and the configuration that calls it. A program that registers its own webhooks does this, and so
 * does one that installs another operator. A program can read the name of the Service from a variable; then the configuration has to be
 * named after an API group of the checkout: `validation.webhook.shop.example.com`.
 */
export function isRegistered(
  { name }: WebhookService,
  { from }: WebhookCall,
  { quoted, groups }: CheckoutFacts,
): boolean {
  if (!quoted.has(from.name)) return false;
  return quoted.has(name) || [...groups].some((group) => from.name.endsWith(`.${group}`));
}

/** Whether the sources serve the path, and other operators do not. */
function isServed(path: string, facts: CheckoutFacts): boolean {
  return !isShared(path) && (facts.paths.has(path) || isDerived(path, facts));
}

/**
 * A webhook configuration, and one URL in it that kube-apiserver calls directly, so no change of a Service can redirect the call to this
 * machine.
 */
export interface UrlCall {
  from: ObjectRef;
  url: URL;
}

/** The calls by URL that, judging by their paths, the checkout answers; at most one for each webhook configuration. */
export function urlCallsOfCheckout(configurations: Configuration[], facts: CheckoutFacts): UrlCall[] {
  return configurations.flatMap(({ kind, object }): UrlCall[] => {
    const from = refOf(kind, object.metadata);
    const urls = (object.webhooks ?? []).flatMap(({ clientConfig: { url } }) => URL.parse(url ?? '') ?? []);
    const own = urls.find(({ pathname }) => isServed(pathname, facts));
    return own === undefined ? [] : [{ from, url: own }];
  });
}

function pathsOf(calls: WebhookCall[]): string[] {
  return [...new Set(calls.map(({ path }) => path))];
}

/** controller-runtime builds paths from group, version and kind: /validate-apps-example-com-v1-application. */
function isDerived(path: string, { groups }: CheckoutFacts): boolean {
  const dashed = [...groups].map((group) => group.replaceAll('.', '-'));
  return dashed.some(
    (group) => path.startsWith(`/mutate-${group}-`) || path.startsWith(`/validate-${group}-`),
  );
}

/** `shop` is a part of shop-system and of my-shop-webhook, but not of workshop. */
function isPart(name: string, whole: string): boolean {
  return `-${whole}-`.includes(`-${name}-`);
}
