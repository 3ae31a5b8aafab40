import { messageOf } from '../errors.ts';
import type { Supervised } from './plan.ts';
import { buildProgram, removeProgram } from './programs.ts';
import type { RestartEvent } from './restart-state.ts';

export interface Builder {
  /** Starts a build, when the one before it has ended. */
  build(number: number): void;
  abort(): void;
  /** Resolves when no compiler runs any more. */
  end(): Promise<void>;
}

/** Runs one build at a time, and puts what it made in the place of the program that is started next. */
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
    const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    supervised.buildSpan = span;
    try {
      const built = await buildProgram(supervised.plan, number, signal);
      const at = performance.now();
      if (!built.ok)
        return report({ is: 'build-failed', build: number, ms: built.ms, output: built.output, at });
      const same = built.content !== undefined && built.content === supervised.runningContent;
      const replaced = supervised.program;
      supervised.program = built.program;
      report({ is: 'built', build: number, ms: built.ms, same, at });
      await removeProgram(replaced);
    } catch (error) {
      if (signal.aborted) return;
      report({ is: 'build-failed', build: number, ms: 0, output: messageOf(error), at: performance.now() });
    } finally {
      span.toMs = Date.now();
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
