import type { WebhookType } from '../report/review.ts';

/** What is known about one webhook of a configuration, or about the conversion of one CRD. */
export interface NamedCall {
  path: string;
  /** `vapplication.kb.io`; for a conversion, the CRD's name. */
  name: string;
  /** The configuration that names it. */
  from?: { kind: string };
  /** The rules of an admission webhook; a conversion has none. */
  rules?: Rule[];
  /** The kind whose objects a conversion converts. Several CRDs often share one path. */
  converts?: string;
  /** What an admission webhook does besides answering. */
  sideEffects?: string;
}

/** A rule as in a webhook configuration. */
export interface Rule {
  apiGroups?: string[];
  resources?: string[];
  operations?: string[];
}

/** What a review asks about. */
export interface Asked {
  path: string;
  /** `applications`, or `pods/exec`. */
  resource?: string;
  group?: string;
  operation?: string;
}

/**
 * The webhook that a review is for, which the review does not name. If several webhooks share its path, their rules decide; if several
 * still fit, all of them are named.
 */
export function nameOf(calls: NamedCall[], asked: Asked): string {
  const names = new Set(callsFor(calls, asked).map(({ name }) => name));
  return names.size === 0 ? asked.path : [...names].join(', ');
}

/** Whether the webhook of this review mutates or validates; undefined if that is not known, or if both are at its path. */
export function typeOf(calls: NamedCall[], asked: Asked): WebhookType | undefined {
  const kinds = new Set(callsFor(calls, asked).map(({ from }) => from?.kind));
  if (kinds.size !== 1) return undefined;
  if (kinds.has('MutatingWebhookConfiguration')) return 'mutating';
  return kinds.has('ValidatingWebhookConfiguration') ? 'validating' : undefined;
}

/** The side effects that the webhook of this review declares even for dry runs; undefined if the review can safely be sent again. */
export function sideEffectsOf(calls: NamedCall[], asked: Asked): string | undefined {
  const declared = callsFor(calls, asked).map(({ sideEffects }) => sideEffects);
  return declared.find((one) => one !== undefined && one !== 'None' && one !== 'NoneOnDryRun');
}

function callsFor(calls: NamedCall[], asked: Asked): NamedCall[] {
  const there = calls.filter(({ path }) => path === asked.path);
  const matching = there.filter(
    ({ rules }) => rules === undefined || rules.some((rule) => matches(rule, asked)),
  );
  return matching.length > 0 ? matching : there;
}

function matches({ apiGroups = [], resources = [], operations = [] }: Rule, asked: Asked): boolean {
  const { group = '', resource = '', operation = '' } = asked;
  return (
    has(apiGroups, group) &&
    has(operations, operation) &&
    resources.some((one) => matchesResource(one, resource))
  );
}

function has(values: string[], wanted: string): boolean {
  return values.includes('*') || values.includes(wanted);
}

/**
 * `*` matches every resource but no subresource, and `* / *` matches both. `pods/*` matches every subresource of pods, and `* /scale`
 * matches the scale subresource of every resource.
 */
function matchesResource(pattern: string, resource: string): boolean {
  if (pattern === '*/*' || pattern === resource) return true;
  const [kind = '', sub] = pattern.split('/');
  const [wanted = '', wantedSub] = resource.split('/');
  const fits = (one: string | undefined, other: string | undefined): boolean => one === '*' || one === other;
  return (
    fits(kind, wanted) &&
    (sub === undefined ? wantedSub === undefined : wantedSub !== undefined && fits(sub, wantedSub))
  );
}
