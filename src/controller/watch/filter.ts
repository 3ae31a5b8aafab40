import type { SourceSet } from '../go/sources.ts';

const BUILD_INPUT = /\.(go|s|S|c|h|cc|cpp|cxx|hpp|hxx|m|syso)$/;
const MODULE_FILE = /^go\.(mod|sum|work|work\.sum)$/;
/** Where tools of any language put their output and downloads. */
const NOT_SOURCE =
  /^(\.git|\.hg|\.svn|\.idea|\.vscode|\.venv|node_modules|target|dist|bin|build|__pycache__)$/;
/** What editors create next to a file while they save it. */
const EDITOR_FILE = /^(\.#.*|#.*#|4913|.*~|.*\.(swp|swx|swo|tmp|pyc))$/;
const GENERATED = /^(\/\/|#) Code generated .* DO NOT EDIT\.$/m;
const STRUCTURE = /^(package\b.*|import\s*\([^)]*\)|import\s.*|\/\/go:(embed|build)\b.*)$/gm;

/** Whether a Go program is built from this file. */
export function isGoInput(path: string, sources: SourceSet): boolean {
  const { directory, name } = split(path);
  if (sources.embedded.has(path) || sources.embeddedDirectories.has(directory))
    return !EDITOR_FILE.test(name);
  if (!sources.directories.has(directory)) return false;
  if (MODULE_FILE.test(name)) return true;
  // Go itself ignores files whose names begin with `.` or `_`.
  return BUILD_INPUT.test(name) && !name.endsWith('_test.go') && !/^[._]/.test(name);
}

/** The sets of reviews that devloop saves. */
const SAVED_SETS = /(?:^|\/)testdata\/reviews(?:\/|$)/;

/** Whether a path below a watched directory belongs to a tool, an editor or devloop. */
export function isNotSource(path: string, root: string): boolean {
  const inside = path.slice(root.length).split('/').filter(Boolean);
  return (
    inside.some((part) => NOT_SOURCE.test(part)) ||
    EDITOR_FILE.test(inside.at(-1) ?? '') ||
    SAVED_SETS.test(inside.join('/'))
  );
}

/** Whether a file has the comment that generators write by Go's convention. */
export function isGenerated(content: string): boolean {
  return GENERATED.test(content);
}

/** The part of a file that decides which other files belong to the program: when it changes, they are listed again. */
export function structureOf(path: string, content: string): string {
  if (MODULE_FILE.test(split(path).name)) return content;
  return [...content.matchAll(STRUCTURE)].map(([text]) => text).join('\n');
}

function split(path: string): { directory: string; name: string } {
  const slash = path.lastIndexOf('/');
  return { directory: path.slice(0, slash), name: path.slice(slash + 1) };
}
