import { dirname } from 'node:path';
import { runTool } from '../../machine/tool.ts';
import { LISTED_FIELDS, localSources, type SourceSet } from './list.ts';

/** Everything in reach of the user that a Go package is built from; undefined when go cannot tell (a broken go.mod). */
export async function listSources(
  cwd: string,
  { goPackage, tags }: { goPackage: string; tags?: string | undefined },
  signal: AbortSignal,
): Promise<SourceSet | undefined> {
  const [list, workspace] = await Promise.all([
    runTool(
      ['go', 'list', '-e', '-deps', `-json=${LISTED_FIELDS}`, ...(tags ? [`-tags=${tags}`] : []), goPackage],
      {
        cwd,
        signal,
      },
    ),
    runTool(['go', 'env', 'GOWORK'], { cwd, signal }),
  ]);
  if (list.code !== 0) return undefined;
  const sources = localSources(list.stdout);
  const file = workspace.stdout.trim();
  if (file !== '' && file !== 'off') sources.directories.add(dirname(file));
  return sources;
}
