import { randomInt } from 'node:crypto';
import { mostSimilar } from '../similar.ts';
import { type Effect, FAULT_CODES, type FaultCode, type FaultRule, REVIEW } from './rule.ts';

const READS = ['get', 'list', 'watch'];
const WRITES = ['create', 'update', 'patch', 'apply', 'delete', 'deletecollection'];
/** The words for verbs; `read` and `write` stand for several. */
const VERBS: Record<string, readonly string[]> = {
  ...Object.fromEntries([...READS, ...WRITES, 'connect', REVIEW].map((verb) => [verb, [verb]])),
  read: READS,
  write: WRITES,
};
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const LONGEST_MS = 24 * UNITS.h;
const LONGEST_TEXT = 500;
const SEEDS = 2 ** 31;
/** kube-apiserver makes no difference between the errors of a webhook. */
const REVIEW_CODES: readonly FaultCode[] = [404, 500, 503];
const RESOURCE = /^([a-z][a-z0-9-]*)(?:\.([a-z0-9.-]+))?(?:\/([a-z]+|\*))?$/;
const PATTERN = /^[\w.*:-]{1,253}$/;

/** Why a text is no rule, as a sentence. */
export class NoRule extends Error {}

/**
 * Reads a rule: what is done (`409`, `delay=2s`, `refuse`, `cut`, `drop`, `crash`), to which verbs (`update`, `write`, `get,list`, `review`), to which
 * resource (`deployments`, without its subresources, `deployments.apps/status`, or `deployments/*` for all of these), and its limits (`name=web-*`, `share=50%`). Throws NoRule.
 */
export function parseRule(text: string): FaultRule {
  if (text.length > LONGEST_TEXT) throw new NoRule(`It has more than ${LONGEST_TEXT} characters.`);
  const [first = '', ...words] = text.trim().split(/\s+/);
  const places = words.filter((word) => !word.includes('='));
  const limits = limitsIn(words.filter((word) => word.includes('=')));
  const effect = effectOf(first, take(limits, 'retry-after'));
  const named = verbsOf(places[0]);
  const verbs = named ?? impliedVerbs(effect);
  const resource = resourceOf(places.slice(named ? 1 : 0), named !== undefined);
  const share = take(limits, 'share');
  const seed = take(limits, 'seed');
  const rule = {
    ...{ effect, ...present({ verbs, resource }) },
    ...present({
      namespace: pattern(take(limits, 'namespace')),
      name: pattern(take(limits, 'name')),
      share: share === undefined ? undefined : { of: shareOf(share), seed: seedOf(seed) },
      nth: whole('nth', take(limits, 'nth')),
      count: whole('count', take(limits, 'count')),
      forMs: optional(take(limits, 'for'), duration),
    }),
  };
  for (const key of limits.keys()) throw new NoRule(`${key}= is not known: ${KEYS} are.`);
  if (seed !== undefined && share === undefined)
    throw new NoRule('seed= makes the choices of a share again, so it needs share=.');
  requirePossible(rule);
  const added = [
    ...(rule.share !== undefined && seed === undefined ? [`seed=${rule.share.seed}`] : []),
    ...(isEndless(rule) ? ['count=1'] : []),
  ];
  return { text: [first, ...words, ...added].join(' '), ...rule, ...(isEndless(rule) && { count: 1 }) };
}

/** A controller that is killed at each write would never get further. */
function isEndless({ effect, nth, count }: Omit<FaultRule, 'text'>): boolean {
  return effect.do === 'crash' && nth === undefined && count === undefined;
}

function impliedVerbs({ do: what }: Effect): readonly string[] | undefined {
  if (what === 'crash') return WRITES;
  return what === 'cut' || what === 'drop' ? ['watch'] : undefined;
}

export function isRule(text: string): boolean {
  try {
    parseRule(text);
    return true;
  } catch {
    return false;
  }
}

const KEYS = 'namespace=, name=, nth=, share=, seed=, count=, for= and retry-after=';

function requirePossible({
  effect,
  verbs,
  nth,
  share,
}: Pick<FaultRule, 'effect' | 'verbs' | 'nth' | 'share'>): void {
  if (nth !== undefined && share !== undefined) throw new NoRule('nth= and share= cannot be combined.');
  if (effect.do === 'crash' && !verbs?.every((verb) => WRITES.includes(verb)))
    throw new NoRule(`A controller is killed at a write: ${WRITES.join(', ')}, or write.`);
  const isEvents = effect.do === 'cut' || effect.do === 'drop';
  if (isEvents && verbs?.join() !== 'watch') throw new NoRule(`${effect.do} is only for watches.`);
  if (!verbs?.includes(REVIEW) || effect.do === 'delay') return;
  if (effect.do !== 'answer' || !REVIEW_CODES.includes(effect.code))
    throw new NoRule(`A review can be delayed, or failed with ${REVIEW_CODES.join(', ')}.`);
}

function effectOf(word: string, retryAfter: string | undefined): Effect {
  if (Object.hasOwn(FAULT_CODES, word)) {
    const seconds = whole('retry-after', retryAfter) ?? (word === '429' ? 1 : undefined);
    const code = Number(word) as FaultCode;
    return { do: 'answer', code, ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }) };
  }
  if (retryAfter !== undefined) throw new NoRule('retry-after= is only for answers, such as 429.');
  if (word === 'refuse' || word === 'cut' || word === 'drop') return { do: word };
  if (word === 'crash') return { do: 'crash', when: 'after' };
  if (word === 'crash-before') return { do: 'crash', when: 'before' };
  if (word.startsWith('delay=')) return { do: 'delay', ms: duration(word.slice('delay='.length)) };
  const codes = Object.keys(FAULT_CODES).join(', ');
  throw new NoRule(
    `It begins with what is to happen: ${codes}, delay=2s, refuse, cut, drop, crash or crash-before.`,
  );
}

/** Undefined if the word is none. */
function verbsOf(word: string | undefined): readonly string[] | undefined {
  const parts = word?.split(',') ?? [];
  if (parts.length === 0 || !parts.every((part) => Object.hasOwn(VERBS, part))) return undefined;
  const verbs = [...new Set(parts.flatMap((part) => VERBS[part]!))];
  if (verbs.includes(REVIEW) && verbs.length > 1)
    throw new NoRule('A rule is about reviews or about calls, not both.');
  return verbs;
}

function resourceOf(words: string[], hasVerb: boolean): FaultRule['resource'] {
  const [word, more] = words;
  if (more !== undefined) throw new NoRule(tooMany(word!, more, hasVerb));
  if (word === undefined || word === '*') return undefined;
  const [, plural, group, subresource] = RESOURCE.exec(word) ?? [];
  if (plural === undefined)
    throw new NoRule(
      `"${word}" is neither a verb nor a resource such as deployments or deployments.apps/status.`,
    );
  return { plural, ...present({ group, subresource }) };
}

/** The first of two words is most likely a verb with a typo. */
function tooMany(word: string, more: string, hasVerb: boolean): string {
  if (hasVerb) return `"${more}" comes after the resource.`;
  const meant = mostSimilar(word, Object.keys(VERBS));
  const instead = meant ? `Did you mean ${meant}?` : `Verbs are ${Object.keys(VERBS).join(', ')}.`;
  return `"${word}" is no verb, and "${more}" comes after it. ${instead}`;
}

function limitsIn(words: string[]): Map<string, string> {
  const limits = new Map<string, string>();
  for (const word of words) {
    const at = word.indexOf('=');
    const key = word.slice(0, at);
    if (limits.has(key)) throw new NoRule(`${key}= is there twice.`);
    limits.set(key, word.slice(at + 1));
  }
  return limits;
}

function take(limits: Map<string, string>, key: string): string | undefined {
  const value = limits.get(key);
  limits.delete(key);
  return value;
}

function pattern(text: string | undefined): string | undefined {
  if (text === undefined || PATTERN.test(text)) return text;
  throw new NoRule(`"${text}" is no name; * stands for any text.`);
}

function shareOf(text: string): number {
  const [, number = '', percent] = /^(\d{1,3}(?:\.\d{1,4})?)(%)?$/.exec(text) ?? [];
  const share = Number(number) / (percent ? 100 : 1);
  if (number !== '' && share > 0 && share <= 1) return share;
  throw new NoRule(`share=${text}: expected a share such as 50% or 0.5.`);
}

function seedOf(text: string | undefined): number {
  if (text === undefined) return randomInt(SEEDS);
  if (/^\d{1,10}$/.test(text) && Number(text) < SEEDS) return Number(text);
  throw new NoRule(`seed=${text}: expected a number below ${SEEDS}.`);
}

function whole(key: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new NoRule(`${key}=${text}: expected a number from 1 to 999999.`);
}

function duration(text: string): number {
  const [, number = '', unit = 's'] = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text) ?? [];
  const ms = Number(number) * UNITS[unit as keyof typeof UNITS];
  if (number !== '' && ms > 0 && ms <= LONGEST_MS) return ms;
  throw new NoRule(`"${text}" is no time: expected one such as 500ms, 2s or 5m, of a day at most.`);
}

function optional<T>(text: string | undefined, read: (text: string) => T): T | undefined {
  return text === undefined ? undefined : read(text);
}

function present<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
