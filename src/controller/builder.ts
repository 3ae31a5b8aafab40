import { messageOf } from '../errors.ts';
import { type BuildOutcome, buildProgram } from './build.ts';
import type { Supervised } from './plan.ts';
import { removeProgram } from './programs.ts';
import type { RestartEvent } from './restart-state.ts';

export interface Builder {
  /** Starts a build as soon as the one before it has ended. */
  build(number: number): void;
  abort(): void;
  /** Resolves when no compiler runs. */
  end(): Promise<void>;
}

/** Builds once, and notes when: what was saved after the start may not be in the program. */
export async function buildOnce(
  supervised: Supervised,
  number: number,
  signal: AbortSignal,
): Promise<BuildOutcome> {
  const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
  supervised.buildSpan = span;
  try {
    return await buildProgram(supervised.plan, number, signal);
  } finally {
    span.toMs = Date.now();
  }
}

/** Runs one build at a time; what it makes becomes the program that is started next. `onBuilt` follows each build, also one that failed. */
export function createBuilder(
  supervised: Supervised,
  report: (event: RestartEvent) => void,
  onBuilt: () => void,
): Builder {
  let current = new AbortController();
  let running = Promise.resolve();

  async function build(number: number, before: Promise<void>, signal: AbortSignal): Promise<void> {
    await before;
    if (signal.aborted) return;
    try {
      const built = await buildOnce(supervised, number, signal);
      const at = performance.now();
      if (!built.ok)
        return report({ is: 'build-failed', build: number, ms: built.ms, output: built.output, at });
      const { content } = built.program;
      const identical = content !== undefined && content === supervised.runningContent;
      const replaced = supervised.program;
      supervised.program = built.program;
      report({ is: 'built', build: number, ms: built.ms, identical, at });
      await removeProgram(replaced);
    } catch (error) {
      if (signal.aborted) return;
      report({ is: 'build-failed', build: number, ms: 0, output: messageOf(error), at: performance.now() });
    } finally {
      if (!signal.aborted) onBuilt();
    }
  }

  return {
    build(number) {
      current = new AbortController();
      running = build(number, running, current.signal);
    },
    abort: () => current.abort(),
    async end() {
      current.abort();
      await running;
    },
  };
}
