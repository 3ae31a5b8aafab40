import { basename, join } from 'node:path';
import type { Emit } from '../report/events.ts';
import { busyPortsIn, fileOnFreePorts } from './busy-ports.ts';
import { fileWithoutElection } from './leader-election.ts';
import type { MountedPath, NeededFiles } from './mounts.ts';
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

interface CopyInputs extends Pick<PlannedMounts, 'copied' | 'paths'> {
  /** The texts of the files, in which webhook ports may already have been changed. */
  texts: ReadonlyMap<string, string>;
  /** Whether leader election stays on. */
  isElectable?: boolean;
}

/** The copies of the mounted files: as the Pod has them, changed only where that cannot work on this machine. */
export async function localCopies(
  { copied, texts, ...inputs }: CopyInputs,
  emit: Emit,
): Promise<NeededFiles[]> {
  const busyPorts = await busyPortsIn([...texts.values()]);
  const local = (path: string, content: Buffer): string | Buffer => {
    const text = texts.get(path);
    if (text === undefined) return content;
    const changed = localText(basename(path), text, { ...inputs, busyPorts }, emit);
    return changed === content.toString('utf8') ? content : changed;
  };
  return copied.map(({ directory, files, executable }) => {
    const entries = Object.entries(files);
    return {
      directory,
      executable,
      files: Object.fromEntries(
        entries.map(([name, content]) => [name, local(join(directory, name), content)]),
      ),
    };
  });
}

function localText(
  name: string,
  text: string,
  { paths, busyPorts, isElectable }: { paths: MountedPath[]; busyPorts: number[]; isElectable?: boolean },
  emit: Emit,
): string {
  const changed = isElectable ? undefined : fileWithoutElection(text);
  if (changed !== undefined) {
    const message = `Leader election is turned off in the local copy of ${name}: it only works in a Pod.`;
    emit({ type: 'note', message });
  }
  const free = fileOnFreePorts(changed ?? text, busyPorts, ({ name: setting, before, after, port }) => {
    const message = `In the local copy of ${name}, ${setting}: ${before}\nbecomes ${after}: port ${port} is in use on this machine`;
    emit({ type: 'note', message });
  });
  const listening = free ?? changed ?? text;
  const local = rewriteMentions(listening, paths);
  if (local !== listening)
    emit({
      type: 'note',
      message: `In the local copy of ${name}, mounted paths are replaced by those of their copies.`,
    });
  return local;
}

/** Replaces mounted paths in a text, as `mentions` finds them; if several match, the longest one is replaced. */
function rewriteMentions(text: string, paths: MountedPath[]): string {
  const byLength = paths.toSorted((a, b) => b.from.length - a.from.length);
  if (byLength.length === 0) return text;
  const escaped = byLength.map(({ from }) => from.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const pattern = new RegExp(`(?<![\\w./-])(?:${escaped.join('|')})(?=$|[/,;:"'\\s])`, 'gm');
  return text.replace(pattern, (from) => byLength.find((one) => one.from === from)!.to);
}
