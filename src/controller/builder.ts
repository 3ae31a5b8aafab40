import { reportWhileWaiting, sleep } from '../async.ts';
import type { BuildProgress } from '../checkout/language.ts';
import { messageOf } from '../errors.ts';
import { type BuildOutcome, buildProgram } from './build.ts';
import { askGit, buildId } from './build-id.ts';
import { generateFirst } from './generate.ts';
import { type Program, removeProgram } from './programs.ts';
import type { RestartEvent } from './restart-state.ts';
import type { ControllerPlan, Supervised } from './supervised.ts';

export interface Builder {
  /** Starts a build as soon as the one before it has ended. */
  build(number: number): void;
  abort(): void;
  /** Aborts the build, and resolves when no compiler runs. */
  end(): Promise<void>;
}

/** The outcome of a build, with the id of its program. */
export type NamedBuild =
  | Exclude<BuildOutcome, { ok: true }>
  | (Extract<BuildOutcome, { ok: true }> & { program: Program });

/** Builds once, and notes when: what was saved after the start might not be in the program. */
export async function buildOnce(
  supervised: Supervised,
  number: number,
  signal: AbortSignal,
): Promise<NamedBuild> {
  const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
  supervised.buildSpan = span;
  const { plan, ports } = supervised;
  const progress = plan.tool?.progress();
  const ended = new AbortController();
  const untilEnded = AbortSignal.any([signal, ended.signal]);
  if (progress) void countLater(plan, progress, untilEnded);
  // The build starts before anything else takes this process's time: people are waiting for the go tool.
  const building = generateFirst(supervised, number, signal).then(
    (failed) =>
      failed ??
      buildProgram(plan, number, { signal, emit: ports.emit, onErrors: (text) => progress?.read(text) }),
  );
  const git = askGit({ cwd: plan.cwd, build: number }, untilEnded);
  try {
    const built = await reportWhileWaiting(
      building,
      { for: 'the build', ...(progress && { progress: progress.now }) },
      ports.emit,
    );
    if (!built.ok) return built;
    const { content } = built.program;
    span.fromMs = built.fromMs;
    const build = buildId({ content, at: span.fromMs, isDirty: await git.answer() });
    return { ...built, program: { ...built.program, build, fromMs: span.fromMs } };
  } finally {
    ended.abort();
    span.toMs = Date.now();
  }
}

/** Counting takes a second or two of CPU time, which pays off only in a long build. */
const COUNT_AFTER_MS = 5_000;

async function countLater(
  { build, cwd, tool }: ControllerPlan,
  progress: BuildProgress,
  signal: AbortSignal,
): Promise<void> {
  if (build === undefined || !(await sleep(COUNT_AFTER_MS, signal))) return;
  const packages = await tool?.packagesToCompile?.(build, cwd, signal).catch(() => undefined);
  if (packages !== undefined) progress.expect(packages);
}

/**
 * Runs one build at a time; its result becomes the program that is started next. `onBuilt` is called after each build that was not aborted,
 * even if it failed.
 */
export function createBuilder(
  supervised: Supervised,
  report: (event: RestartEvent) => void,
  onBuilt: (succeeded: boolean) => void,
): Builder {
  let current = new AbortController();
  let running = Promise.resolve();

  async function build(number: number, before: Promise<void>, signal: AbortSignal): Promise<void> {
    await before;
    if (signal.aborted) return;
    let succeeded = false;
    try {
      const built = await buildOnce(supervised, number, signal);
      const at = performance.now();
      if (!built.ok)
        return report({ is: 'build-failed', build: number, ms: built.ms, output: built.output, at });
      succeeded = true;
      const { content } = built.program;
      const isAs = (other: string | undefined): boolean => content !== undefined && content === other;
      const identical = isAs(supervised.runningContent);
      const asWorked = isAs(supervised.worked?.content);
      const replaced = supervised.program;
      supervised.program = built.program;
      report({ is: 'built', build: number, ms: built.ms, identical, asWorked, at });
      if (replaced !== supervised.worked) await removeProgram(replaced);
    } catch (error) {
      if (signal.aborted) return;
      report({ is: 'build-failed', build: number, ms: 0, output: messageOf(error), at: performance.now() });
    } finally {
      if (!signal.aborted) onBuilt(succeeded);
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
