import { relative } from 'node:path';
import { COARSE_CLOCK_MS } from '../checkout/files.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { OnChange } from './changes.ts';
import type { Supervised } from './supervised.ts';
import { type Watcher, watchSources } from './watch/watch.ts';

/** Reports changes of the sources; undefined when there is nothing to watch. */
export async function watch(
  supervised: Supervised,
  onChange: OnChange,
  signal: AbortSignal,
): Promise<Watcher | undefined> {
  const { plan, ports } = supervised;
  if (!plan.watch || signal.aborted) return undefined;
  return await watchSources({
    cwd: plan.cwd,
    target: plan.watch,
    firstLook: supervised.firstLook,
    sinceMs: supervised.buildSpan.fromMs,
    isOfBuild: (modifiedMs) => isOfBuild(supervised, modifiedMs),
    signal,
    onChange: (files, at) =>
      onChange(
        files.map((file) => named(file, plan.cwd)),
        at,
      ),
    onError: (cause, next) => ports.emit(notice('watch.failed', { cause, next })),
  });
}

/** Notes what the program was built from: if nothing changes until the next session, that session has nothing to build. */
export async function rememberSources(
  { plan: { keptProgram }, program: { file, fromMs } }: Supervised,
  watcher: Watcher | undefined,
): Promise<void> {
  const sources = watcher?.scope.sources;
  if (keptProgram === undefined || file === undefined || fromMs === undefined || sources === undefined)
    return;
  await sources.note(keptProgram, { file, fromMs });
}

/** What runs before a build generates sources, and a build command may. The known build tools do not, so a file that changes while they run was edited. */
function isOfBuild({ plan, buildSpan, generatedSpan }: Supervised, modifiedMs: number): boolean {
  const { tool, build = [] } = plan;
  const isKnown = tool?.builds(build) ?? false;
  const isIn = (span: Supervised['buildSpan'] | undefined): boolean =>
    span !== undefined && modifiedMs >= span.fromMs - COARSE_CLOCK_MS && modifiedMs <= span.toMs;
  return isIn(generatedSpan) || (!isKnown && isIn(buildSpan));
}

function named(file: string, cwd: string): string {
  const path = relative(cwd, file);
  return path.startsWith('..') ? file : path;
}
