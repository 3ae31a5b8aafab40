/** One step into an object or a list. */
export interface PathStep {
  /** A key, or a position in a list; undefined for `*`, which stands for all of them. */
  key: string | undefined;
  /** Whether `..` precedes the step, which then matches at any depth below. */
  isDeep: boolean;
}

const STEP =
  /(?<deep>\.\.)?(?:\.?(?<star>\*)|\.?(?<name>(?:[^\s.[\]{}*'"\\]|\\.)+)|\.?\[(?:(?<each>\*)|(?<index>\d+)|'(?<single>[^']+)'|"(?<double>[^"]+)")\])/y;

/**
 * Parses a JSONPath that only names fields, as kubectl and others write it (`{.a.b}`, `$.a['b.c'][0]`, `.a\.b`, `..b`). Returns undefined
 * for any other text, such as a filter.
 */
export function jsonPath(text: string): PathStep[] | undefined {
  const inner = /^\{(.*)\}$/.exec(text)?.[1] ?? text;
  const path = inner.startsWith('$') ? inner.slice(1) : inner;
  const steps: PathStep[] = [];
  STEP.lastIndex = 0;
  for (let at = 0; at < path.length; at = STEP.lastIndex) {
    const { deep, name, index, single, double } = STEP.exec(path)?.groups ?? { name: '' };
    if (STEP.lastIndex <= at) return undefined;
    const key = name?.replaceAll(/\\(.)/g, '$1') ?? index ?? single ?? double;
    steps.push({ key, isDeep: deep !== undefined });
  }
  return steps.length > 0 ? steps : undefined;
}
