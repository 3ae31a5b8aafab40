/** What one Go source file contains before its first declaration. */
export interface SourceFile {
  /** The name in its package clause; '' for a file without one. */
  package: string;
  imports: string[];
  /** The expression of `//go:build`; '' for none. */
  constraint: string;
}

const SKIPPED = /(?:\s+|;|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const PACKAGE = /package\s+(\w+)/y;
const IMPORT = /import\b\s*/y;
const OPEN = /\(/y;
const SPEC = /(?:[\w.]+\s*)?(?:"([^"\n]*)"|`([^`]*)`)/y;
const CONSTRAINT = /^\/\/go:build\s+(.*)$/m;

/** Reads the package clause and the imports, and ignores the rest. */
export function readSourceFile(text: string): SourceFile {
  const header = take(SKIPPED, text, 0);
  const clause = take(PACKAGE, text, header.end);
  const constraint = CONSTRAINT.exec(text.slice(0, header.end))?.[1]?.trim() ?? '';
  if (clause.groups === undefined) return { package: '', imports: [], constraint };
  return { package: clause.groups[1]!, imports: importsFrom(text, clause.end), constraint };
}

function importsFrom(text: string, start: number): string[] {
  const imports: string[] = [];
  let at = take(SKIPPED, text, start).end;
  for (let word = take(IMPORT, text, at); word.groups; word = take(IMPORT, text, at)) {
    const open = take(OPEN, text, word.end);
    at = take(SKIPPED, text, open.end).end;
    for (let spec = take(SPEC, text, at); spec.groups; spec = take(SPEC, text, at)) {
      imports.push(spec.groups[1] ?? spec.groups[2] ?? '');
      at = take(SKIPPED, text, spec.end).end;
      if (open.groups === undefined) break;
    }
    if (open.groups) at = take(SKIPPED, text, at + 1).end;
  }
  return imports;
}

/** A match of a sticky pattern; without one, `groups` is undefined and `end` is `at`. */
function take(
  pattern: RegExp,
  text: string,
  at: number,
): { groups: RegExpExecArray | undefined; end: number } {
  pattern.lastIndex = at;
  const groups = pattern.exec(text) ?? undefined;
  return { groups, end: groups ? at + groups[0].length : at };
}
