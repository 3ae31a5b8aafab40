import { isAlias, isMap, isNode, isScalar, isSeq, type Pair, type YAMLMap } from 'yaml';
import { shortened } from '../phrases.ts';

/** Reports a problem at a node of the document. */
export type Complain = (node: unknown, message: string) => void;

export interface NamedPair {
  key: unknown;
  name: string;
  pair: Pair;
}

/** The pairs of a map, without those whose key is a duplicate or not a name. */
export function namedPairs(map: YAMLMap, complain: Complain): NamedPair[] {
  const seen = new Set<string>();
  return map.items.flatMap((pair) => {
    const { key } = pair;
    const name = nameOf(key);
    if (name === undefined) complain(key, `a key cannot be ${kindOf(key)}; expected a name`);
    else if (seen.has(name)) complain(key, `\`${name}\` is given twice`);
    if (name === undefined || seen.has(name)) return [];
    seen.add(name);
    return [{ key, name, pair }];
  });
}

function nameOf(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  // YAML reads the keys of `yes: …` and `1: …` as other types, but the name is what was written.
  return typeof key.value === 'string' ? key.value : key.source || undefined;
}

export function isNothing(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

/** What the node is, in words, for "expected … , got …". */
export function kindOf(node: unknown): string {
  if (isNothing(node)) return 'nothing';
  if (isAlias(node)) return 'an alias (`*…`), which devloop.yaml does not support: write out the value';
  if (isMap(node)) return 'settings (`key: value`)';
  if (isSeq(node)) return 'a list';
  if (!isScalar(node)) return 'nothing';
  const { value, source = '' } = node;
  if (typeof value === 'string') return value === '' ? 'empty text' : `the text \`${shown(value)}\``;
  if (typeof value === 'boolean') return `${value}`;
  return typeof value === 'number' ? `the number ${shown(source)}` : `\`${shown(source)}\``;
}

export function offsetOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

function shown(text: string): string {
  return shortened(text, 60);
}
