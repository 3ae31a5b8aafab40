import { type GoSource, type GoSources, lastName } from './sources.ts';

/** Calls whose value is a text that the program uses as a path or a name. */
const COMPOSING = new Set(['Join', 'Sprintf']);

/** All texts in the sources: those that are written, and those that are composed from constants. */
export function textsIn(all: GoSources): Set<string> {
  const texts = new Set<string>();
  for (const source of all.sources) for (const text of textsOf(source, all)) texts.add(text);
  return texts;
}

/** The texts of one source. */
export function textsOf(source: GoSource, { valueIn }: GoSources): string[] {
  const { strings, calls, sums } = source.file;
  const composed = [...sums, ...calls.filter(({ callee }) => COMPOSING.has(lastName(callee)))];
  const values = composed.map((one) => valueIn(source, one, one.within));
  return [...strings, ...values.filter((value) => typeof value === 'string')];
}

/** What the sources join to something that only the program knows, such as the directory of its own file. */
export function joinedInProgram({ sources, valueIn }: GoSources): Set<string> {
  const asking = sources.filter(({ file }) =>
    file.calls.some(({ callee }) => lastName(callee) === 'Executable'),
  );
  const found = asking.flatMap((source) =>
    source.file.calls.flatMap(({ callee, values, within }) => {
      const [base, ...parts] = lastName(callee) === 'Join' ? values : [];
      if (base === undefined || valueIn(source, base, within) !== undefined) return [];
      const known = parts
        .map((part) => valueIn(source, part, within))
        .filter((part) => typeof part === 'string');
      return known.length > 0 && known.length === parts.length ? [known.join('/')] : [];
    }),
  );
  return new Set(found);
}
