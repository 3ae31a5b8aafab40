import { join } from 'node:path';
import type { NeededFiles } from './mounts.ts';
import { isText, type PlannedMounts } from './plan-mounts.ts';

/** The texts of the mounted files, by the path of the copy on this machine. */
export function mountedTexts(copied: PlannedMounts['copied']): Map<string, string> {
  const all = copied.flatMap(({ directory, files }) =>
    Object.entries(files).map(([name, content]) => [join(directory, name), content] as const),
  );
  return new Map(
    all.flatMap(([path, content]) => (isText(content) ? [[path, content.toString('utf8')] as const] : [])),
  );
}

/** The copies of the mounted files, with these texts. What is not changed stays as the Pod has it, byte by byte. */
export function localCopies(
  copied: PlannedMounts['copied'],
  texts: ReadonlyMap<string, string>,
): NeededFiles[] {
  const local = (path: string, content: Buffer): string | Buffer => {
    const text = texts.get(path);
    return text === undefined || text === content.toString('utf8') ? content : text;
  };
  return copied.map(({ directory, files, executable, isLive }) => {
    const entries = Object.entries(files);
    return {
      directory,
      executable,
      isVolume: isLive,
      files: Object.fromEntries(
        entries.map(([name, content]) => [name, local(join(directory, name), content)]),
      ),
    };
  });
}
