import { relative } from 'node:path';
import type { Supervised } from './plan.ts';
import type { RestartEvent } from './restart-state.ts';
import { type Watcher, watchSources } from './watch/watch.ts';

export interface SourceChanges {
  /** Looks again for what belongs to the program. */
  refresh(): void;
  end(): Promise<void>;
}

/** Watches what the plan says, and reports changes; whatever goes wrong for good goes to `fail`. */
export function followSources(
  supervised: Supervised,
  report: (event: RestartEvent) => void,
  fail: (error: unknown) => void,
): SourceChanges {
  const { plan, ports, disposed } = supervised;
  const ended = new AbortController();
  const signal = AbortSignal.any([ports.signal, disposed, ended.signal]);
  const watching = start().catch((error) => {
    if (!signal.aborted) fail(error);
    return undefined;
  });

  async function start(): Promise<Watcher | undefined> {
    if (!plan.watch || signal.aborted) return undefined;
    return await watchSources({
      cwd: plan.cwd,
      target: plan.watch,
      sinceMs: supervised.buildSpan.fromMs,
      isOfBuild,
      signal,
      onChange: (files, at) => report({ is: 'changed', files: files.map(named), at }),
      onError: (message) => ports.emit({ type: 'warning', message: `cannot watch the sources: ${message}` }),
    });
  }

  function named(file: string): string {
    const path = relative(plan.cwd, file);
    return path.startsWith('..') ? file : path;
  }

  /** `go build` writes no sources, so a change while it runs is somebody's; a build of the user's own may generate. */
  function isOfBuild(modifiedMs: number): boolean {
    const { fromMs, toMs } = supervised.buildSpan;
    return plan.build?.[0] !== 'go' && modifiedMs >= fromMs && modifiedMs <= toMs;
  }

  return {
    refresh() {
      const { fromMs } = supervised.buildSpan;
      void watching.then((watcher) => watcher?.refresh(fromMs)).catch(fail);
    },
    async end() {
      ended.abort();
      await (await watching)?.[Symbol.asyncDispose]();
    },
  };
}
