/** What is done to a call or a review on purpose, to see what the controller does then. */
export type Effect =
  | { do: 'answer'; code: FaultCode; retryAfterSeconds?: number }
  /** A call or a review waits before it is passed on, an event of a watch before it arrives. */
  | { do: 'delay'; ms: number }
  /** The connection is closed without an answer. */
  | { do: 'refuse' }
  /** A watch ends in place of its next event. */
  | { do: 'cut' }
  /** An event of a watch does not arrive. */
  | { do: 'drop' }
  /** The controller is killed before a write is passed on, or after it has succeeded and before the answer arrives; then it starts again. */
  | { do: 'crash'; when: 'before' | 'after' };

/** The answers that a rule can give, as the API server gives them. */
export const FAULT_CODES = {
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
} as const;

export type FaultCode = keyof typeof FAULT_CODES;

/** Which calls, events or reviews a rule is about, and how many of them. */
export interface FaultRule {
  /** The rule as it is written, with its seed: the same text makes the same choices again. */
  text: string;
  effect: Effect;
  /** Absent: calls with any verb. */
  verbs?: readonly string[];
  /** Absent: all, also calls about no resource. As in RBAC, a resource does not stand for its subresources; `*` stands for each of these. */
  resource?: { plural: string; group?: string; subresource?: string };
  /** With `*` for any text. */
  namespace?: string;
  name?: string;
  /** From 0 to 1; which ones follows from the seed. Absent: all. */
  share?: { of: number; seed: number };
  /** Only this one of those that it is about, after which the rule is over. */
  nth?: number;
  /** After so many, the rule is over. */
  count?: number;
  /** After so long, the rule is over. */
  forMs?: number;
}

/** The verb with which a rule is about reviews, and not about calls. */
export const REVIEW = 'review';

/** What a rule can be about. */
export interface Subject {
  /** The verb of a call, or REVIEW. */
  verb: string;
  group?: string;
  resource?: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

/** Whether the rule is about the events of a watch, rather than about calls and reviews as a whole. */
export function isAboutEvents({ effect, verbs }: FaultRule): boolean {
  return effect.do === 'cut' || effect.do === 'drop' || (effect.do === 'delay' && verbs?.join() === 'watch');
}

/** Whether the rule is about calls that have succeeded. */
export function isAboutAnswered({ effect }: FaultRule): boolean {
  return effect.do === 'crash' && effect.when === 'after';
}

type Which = Omit<FaultRule, 'text' | 'effect'>;

export function isAbout(rule: Which, subject: Subject): boolean {
  return whyNotAbout(rule, subject) === undefined;
}

/** What of a call the rule is not about; undefined if it is about the call. */
export function whyNotAbout(
  { verbs, resource, namespace, name }: Which,
  subject: Subject,
): 'verb' | 'resource' | 'group' | 'namespace' | 'name' | undefined {
  if (verbs === undefined ? subject.verb === REVIEW : !verbs.includes(subject.verb)) return 'verb';
  if (resource && !isOfResource(resource, subject)) return 'resource';
  if (resource?.group !== undefined && resource.group !== subject.group) return 'group';
  if (!fits(namespace, subject.namespace)) return 'namespace';
  return fits(name, subject.name) ? undefined : 'name';
}

function isOfResource(
  { plural, subresource }: NonNullable<FaultRule['resource']>,
  subject: Subject,
): boolean {
  if (plural !== subject.resource) return false;
  const isSub = Boolean(subject.subresource);
  return subresource === '*' ? isSub : (subresource ?? '') === (subject.subresource ?? '');
}

/** `*` stands for any text. It reads a text once for each piece, however many there are. */
function fits(pattern: string | undefined, text = ''): boolean {
  if (pattern === undefined) return true;
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false;
  let from = first.length;
  for (const piece of rest) {
    const at = text.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return from <= text.length - last.length;
}
