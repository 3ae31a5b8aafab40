import { createHash } from 'node:crypto';
import type { FaultSummary } from '../report/fault.ts';
import { Missed } from './missed.ts';
import { type FaultRule, isAbout, isAboutAnswered, isAboutEvents, type Subject } from './rule.ts';

/** What happens to one call, event or review. */
export interface Injected {
  /** The rules that meet it, as they are written. */
  by: string[];
  delayMs: number;
  /** What happens instead of passing it on; absent if it is only delayed. */
  end?: Exclude<FaultRule['effect'], { do: 'delay' }>;
}

interface Running extends FaultSummary {
  parsed: FaultRule;
  addedAt: number;
  missed: Missed;
}

/** More rules than anybody writes; each call is compared with all of them. */
export const MOST_RULES = 50;
const HASH_RANGE = 2 ** 32;

/** The faults of one session. */
export class Injector {
  #rules: Running[] = [];
  #added = 0;
  #now: () => number;

  /** `now`: in milliseconds, and never set back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns undefined, and adds none, if there would be too many. */
  add(rules: FaultRule[]): FaultSummary[] | undefined {
    if (this.#rules.length + rules.length > MOST_RULES) return undefined;
    for (const parsed of rules) {
      this.#added += 1;
      const counts = { seen: 0, met: 0, isOver: false };
      this.#rules.push({
        id: String(this.#added),
        rule: parsed.text,
        ...counts,
        parsed,
        addedAt: this.#now(),
        missed: new Missed(),
      });
    }
    return this.list();
  }

  list(): FaultSummary[] {
    for (const rule of this.#rules) this.#isOver(rule);
    return this.#rules.map(({ parsed, addedAt, missed, ...state }) => ({
      ...state,
      ...(state.seen === 0 && parsed.resource && missed.summary(parsed)),
    }));
  }

  /** Removes these rules, or all. Returns the ids that it does not have. */
  clear(ids: string[]): string[] {
    const unknown = ids.filter((id) => !this.#rules.some((rule) => rule.id === id));
    this.#rules = this.#rules.filter(({ id }) => ids.length > 0 && !ids.includes(id));
    return unknown;
  }

  /** Whether a rule names this verb and is not over. */
  hasRulesAbout(verb: string): boolean {
    return this.#rules.some((rule) => rule.parsed.verbs?.includes(verb) && !this.#isOver(rule));
  }

  /** Whether there is a rule at all, so that it matters what a call is about. */
  get hasRules(): boolean {
    return this.#rules.length > 0;
  }

  /** What happens to a call or a review; undefined in most cases. */
  meet(subject: Subject): Injected | undefined {
    if (!this.hasRules) return undefined;
    return this.#meet(subject, (rule) => !isAboutEvents(rule) && !isAboutAnswered(rule));
  }

  /** What happens to a call that has succeeded, before its answer arrives. */
  meetAnswered(subject: Subject): Injected | undefined {
    return this.#meet(subject, isAboutAnswered);
  }

  /** What happens to an event of a watch; `subject` names the object of the event. */
  meetEvent(subject: Subject): Injected | undefined {
    return this.#meet(subject, isAboutEvents);
  }

  /** Whether a rule is about events of such watches, so that they have to be read. */
  isAboutEventsOf({ name: _, ...watch }: Subject): boolean {
    return this.#rules.some((rule) => {
      const { name, namespace, ...anywhere } = rule.parsed;
      return isAboutEvents(rule.parsed) && isAbout(anywhere, watch) && !this.#isOver(rule);
    });
  }

  #meet(subject: Subject, applies: (rule: FaultRule) => boolean): Injected | undefined {
    const injected: Injected = { by: [], delayMs: 0 };
    for (const rule of this.#rules) {
      const { parsed } = rule;
      if (!applies(parsed) || this.#isOver(rule) || !isMet(rule, subject)) continue;
      rule.met += 1;
      injected.by.push(rule.rule);
      if (parsed.effect.do === 'delay') injected.delayMs += parsed.effect.ms;
      else {
        injected.end = parsed.effect;
        break;
      }
    }
    return injected.by.length > 0 ? injected : undefined;
  }

  #isOver(rule: Running): boolean {
    const { nth = Infinity, count = Infinity, forMs = Infinity } = rule.parsed;
    rule.isOver ||= rule.seen >= nth || rule.met >= count || this.#now() - rule.addedAt >= forMs;
    return rule.isOver;
  }
}

/** Counts what the rule is about, and keeps what it is not about as long as it was about nothing. */
function isMet(rule: Running, subject: Subject): boolean {
  const { parsed, missed } = rule;
  if (!isAbout(parsed, subject)) {
    if (rule.seen === 0 && parsed.resource) missed.note(parsed, subject);
    return false;
  }
  rule.seen += 1;
  return (parsed.nth === undefined || rule.seen === parsed.nth) && isChosen(parsed.share, rule.seen);
}

/** The choice depends on the seed and on which one it is, so other rules and other calls do not change it. */
function isChosen(share: FaultRule['share'], ordinal: number): boolean {
  if (share === undefined) return true;
  const hash = createHash('sha256').update(`${share.seed} ${ordinal}`).digest().readUInt32BE();
  return hash / HASH_RANGE < share.of;
}
