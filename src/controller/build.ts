import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { runTool } from '../machine/tool.ts';
import type { BegunBuild, Finished } from './begun-build.ts';
import { isGoBuild, verbose, withoutProgress } from './build-progress.ts';
import { goEnvironment } from './go/build-command.ts';
import { noteBuild } from './kept-note.ts';
import { keepProgram, linkAs, type Program, removeOldPrograms, restoreKept } from './programs.ts';

/** `fromMs`: when the build began, on the clock of Date.now(). What was saved later might not be in the program. */
export type BuildOutcome =
  | (Finished & { ok: true; program: Omit<Program, 'build' | 'fromMs'> })
  | { ok: false; ms: number; output: string };

export interface BuildPlan {
  cwd: string;
  /** The build command; undefined if the program is built already. Each build writes to a new file if `-o` names `run[0]`. */
  build: string[] | undefined;
  /** What to do if the build fails because of flags that devloop chose. */
  withoutChosen?: string | undefined;
  run: string[];
  /** The name under which a built program is started; absent if it does not matter. */
  runAs?: string | undefined;
  /** The file beside which built programs are stored. */
  stateFile: string;
  /** Where the newest program is kept for the next session, which then skips the link step if nothing changed. */
  keptProgram?: string | undefined;
  /** A build that has already begun, and may turn out to be the first build of this session. */
  begun?: BegunBuild | undefined;
}

export interface BuildIo {
  signal: AbortSignal;
  /** Called with what the build prints, as it arrives. */
  onErrors(text: string): void;
}

/** Puts the newest program of the last session where the first build of this one will find it. */
export async function prepareFirst(plan: BuildPlan): Promise<void> {
  const { cwd, build: command = [], begun, keptProgram } = plan;
  const output = outputOf(plan);
  if (keptProgram === undefined || output === undefined || begun?.isOf({ cwd, command, output })) return;
  await restoreKept(keptProgram, programFile(plan, 0));
}

/** The word after the `-o` that names the program; undefined if the build command names its output in another way. */
function outputOf({ build = [], run }: BuildPlan): number | undefined {
  const output = build.indexOf('-o') + 1;
  return output > 0 && build[output] === run[0] ? output : undefined;
}

function programFile({ stateFile }: BuildPlan, build: number): string {
  return join(dirname(stateFile), `controller-${build}`);
}

/**
 * Builds program number `build` of a session. Each build writes a new file, so it neither disturbs the running program nor leaves half a
 * program behind. Without a build command, every change counts as a new program.
 */
export async function buildProgram(plan: BuildPlan, build: number, io: BuildIo): Promise<BuildOutcome> {
  const { build: command, run, runAs, cwd, keptProgram } = plan;
  if (command === undefined)
    return { ok: true, fromMs: Date.now(), ms: 0, program: { run, content: undefined, file: undefined } };
  const output = outputOf(plan);
  if (output === undefined) return await runBuild(command, cwd, { run, file: undefined }, io);
  const binary = programFile(plan, build);
  const program = { run: run.with(0, await linkAs(runAs, binary)), file: binary };
  const known = { cwd, command, output };
  const begun = build === 0 && plan.begun?.isOf(known) ? await plan.begun.moveTo(binary, io) : undefined;
  const outcome = begun
    ? await built(program, cwd, begun)
    : await runBuild(command.with(output, binary), cwd, program, io);
  if (keptProgram !== undefined && outcome.ok) await keepProgram(binary, keptProgram);
  if (keptProgram !== undefined && outcome.ok) await noteBuild(keptProgram, known);
  if (keptProgram !== undefined && build === 0) await removeOldPrograms(dirname(keptProgram)).catch(() => {});
  return outcome;
}

/** Runs the build in devloop's environment, not in the controller's. An abort ends all processes of the build, and rejects. */
async function runBuild(
  command: string[],
  cwd: string,
  program: Omit<Program, 'content' | 'build' | 'fromMs'>,
  { signal, onErrors }: BuildIo,
): Promise<BuildOutcome> {
  const fromMs = Date.now();
  const start = performance.now();
  const own = isGoBuild(command) ? { env: goEnvironment() } : {};
  const { missing, code, output } = await runTool(verbose(command), { cwd, ...own, signal, onErrors });
  const ms = Math.round(performance.now() - start);
  // The system reports the same error for a missing command and a missing directory.
  const absent = existsSync(cwd) ? `${command[0]}: command not found` : `${cwd} does not exist`;
  if (missing) return { ok: false, ms, output: absent };
  if (code !== 0) return { ok: false, ms, output: withoutProgress(output).trimEnd() };
  return await built(program, cwd, { fromMs, ms });
}

async function built(
  program: Omit<Program, 'content' | 'build' | 'fromMs'>,
  cwd: string,
  finished: Finished,
): Promise<BuildOutcome> {
  return {
    ok: true,
    ...finished,
    program: { ...program, content: await contentOf(resolve(cwd, program.run[0]!)) },
  };
}

/** How much of a program to read for its build id. The go tool reads no more either. */
const HEAD_BYTES = 32 * 1024;
/** The build id is in an ELF note on Linux, and at the beginning of the text segment elsewhere. */
const BUILD_ID = /(?:[\w-]{20}\/){3}([\w-]{20})/;

/**
 * The last part of a Go program's build id: a hash of the program without the build id itself, since that changes with every comment.
 * Undefined for other programs.
 */
async function contentOf(binary: string): Promise<string | undefined> {
  const file = await open(binary).catch(() => undefined);
  if (!file) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return BUILD_ID.exec(buffer.toString('latin1', 0, bytesRead))?.[1];
  } catch {
    // `binary` can be a directory with the name of a program on the PATH.
    return undefined;
  } finally {
    await file.close();
  }
}
