import { isEditorFile } from '../../checkout/files.ts';

/** Where tools of any language put their output and downloads. */
const NOT_SOURCE =
  /^(\.git|\.hg|\.svn|\.idea|\.vscode|\.?venv|node_modules|target|dist|bin|build|__pycache__)$/;
const GENERATED = /^(\/\/|#) Code generated .* DO NOT EDIT\.$/m;

/** The sets of reviews that devloop saves. */
const SAVED_SETS = /(?:^|\/)testdata\/reviews(?:\/|$)/;

/** Whether a path below a watched directory belongs to a tool, an editor or devloop. */
export function isNotSource(path: string, root: string): boolean {
  const inside = path.slice(root.length).split('/').filter(Boolean);
  return (
    inside.some((part) => NOT_SOURCE.test(part)) ||
    isEditorFile(inside.at(-1) ?? '') ||
    SAVED_SETS.test(inside.join('/'))
  );
}

/** Whether a file has the comment that generators write by Go's convention. */
export function isGenerated(content: string): boolean {
  return GENERATED.test(content);
}
