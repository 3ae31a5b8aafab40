import type { MissedCalls } from '../report/fault.ts';
import { mostSimilar } from '../similar.ts';
import { type FaultRule, REVIEW, type Subject, whyNotAbout } from './rule.ts';

const MOST_KINDS = 100;
const MOST_LISTED = 5;

/** What has passed by a rule that was about nothing yet, which shows why. It takes no more than a number for each kind of call. */
export class Missed {
  #calls = new Map<string, MissedCalls>();
  #plurals = new Set<string>();

  note(rule: FaultRule, { verb, resource, subresource, ...subject }: Subject): void {
    const isOfReviews = rule.verbs?.includes(REVIEW) ?? false;
    if (resource === undefined || isOfReviews !== (verb === REVIEW)) return;
    if (rule.resource?.plural !== resource) {
      if (this.#plurals.size < MOST_KINDS) this.#plurals.add(resource);
      return;
    }
    const why = whyNotAbout(rule, { ...subject, verb, resource, ...(subresource && { subresource }) });
    const but = why === 'name' || why === 'namespace' || why === 'group' ? { but: why } : {};
    const named = subresource ? `${resource}/${subresource}` : resource;
    const key = `${verb} ${named} ${why}`;
    const calls = this.#calls.get(key) ?? { verb, resource: named, times: 0, ...but };
    calls.times += 1;
    if (this.#calls.size < MOST_KINDS) this.#calls.set(key, calls);
  }

  /** The most frequent calls of the resource, and what is called instead of it if that looks like a typo. */
  summary({ resource }: FaultRule): { instead: MissedCalls[]; meant?: string } {
    const calls = [...this.#calls.values()].toSorted((a, b) => b.times - a.times);
    const meant =
      resource && calls.length === 0 ? mostSimilar(resource.plural, [...this.#plurals]) : undefined;
    return { instead: calls.slice(0, MOST_LISTED), ...(meant !== undefined && { meant }) };
  }
}
