import type { PrunedField } from '../report/review.ts';
import { ANY, type CrdFields, type Fields, type VersionFields } from './crd-fields.ts';

/** What a webhook changed: a place in the object, as the tokens of a JSON pointer, and the value that is now there. */
export interface Change {
  tokens: string[];
  value: unknown;
}

/** A person reads no more. */
const MOST_NAMED = 20;
/** The limit for the values of one review that are looked at. */
const MOST_VALUES = 20_000;
const ALWAYS_KEPT = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * The changed fields that kube-apiserver does not store, and why. Names only what is certain, so it is silent about `metadata`, and about
 * versions between which a webhook converts.
 */
export function prunedFields(crd: CrdFields, version: string, changes: Change[]): PrunedField[] {
  const reviewed = crd.versions.get(version);
  const stored = crd.versions.get(crd.stored);
  if (reviewed === undefined || stored === undefined) return [];
  const found = new Map<string, PrunedField>();
  const isInStatus = ({ tokens }: Change): boolean => reviewed.hasStatus && tokens[0] === 'status';
  for (const { tokens } of changes.filter(isInStatus)) {
    const field = tokens.slice(0, 2).join('.');
    found.set(field, { field, why: 'status-subresource' });
  }
  const kept = changes.filter((change) => !isInStatus(change));
  const { fields } = pruning(crd, reviewed, stored);
  for (const field of missingFields(fields, kept)) found.set(field, { field, why: 'not-in-crd' });
  return [...found.values()].slice(0, MOST_NAMED);
}

/**
 * Without a conversion webhook, only the stored version prunes: a field that is in no other version is stored nevertheless. With one, the
 * webhook can move fields, but nobody who reads the review's version sees what that version lacks.
 */
function pruning({ isConverted }: CrdFields, reviewed: VersionFields, stored: VersionFields): VersionFields {
  return isConverted ? reviewed : stored;
}

function missingFields(fields: Fields, changes: Change[]): Set<string> {
  const missing = new Set<string>();
  const looking = { left: MOST_VALUES, missing };
  for (const { tokens, value } of changes) {
    if (missing.size >= MOST_NAMED) break;
    const at = inside(fields, tokens, looking);
    if (at !== undefined) look(value, at, looking);
  }
  return missing;
}

interface PruneSearch {
  left: number;
  missing: Set<string>;
}

interface At {
  fields: Fields;
  path: string;
}

/** What is known at the end of the tokens; undefined if the value there is not kept, or if nothing is known about it. */
function inside(root: Fields, tokens: string[], looking: PruneSearch): At | undefined {
  let at: At = { fields: root, path: '' };
  for (const token of tokens) {
    const next = step(at, token);
    if (typeof next === 'string') looking.missing.add(next);
    if (typeof next !== 'object') return undefined;
    at = next;
  }
  return at;
}

/** The field below; its path as a text if it is not kept, and undefined if it is kept and nothing else is known. */
function step({ fields, path }: At, token: string): At | string | undefined {
  if (fields === ANY) return undefined;
  const { byName, each, isList, keepsOthers, isResource } = fields;
  if (isResource && ALWAYS_KEPT.has(token)) return undefined;
  // A list where an object is expected is refused, so nothing is pruned.
  if (isList) return /^(?:\d+|-)$/.test(token) ? { fields: each!, path: `${path}[]` } : undefined;
  const below = path === '' ? token : `${path}.${token}`;
  const known = byName.get(token);
  if (known !== undefined) return { fields: known, path: below };
  // The keys of a map can be the user's own words.
  if (each !== undefined) return { fields: each, path: `${path}.*` };
  return keepsOthers ? undefined : below;
}

function look(value: unknown, at: At, looking: PruneSearch): void {
  looking.left -= 1;
  if (typeof value !== 'object' || value === null || at.fields === ANY) return;
  if (looking.left < 0 || looking.missing.size >= MOST_NAMED) return;
  if (Array.isArray(value) !== at.fields.isList) return;
  for (const [key, item] of Object.entries(value)) {
    const next = step(at, key);
    if (typeof next === 'string') looking.missing.add(next);
    else if (next !== undefined) look(item, next, looking);
  }
}
