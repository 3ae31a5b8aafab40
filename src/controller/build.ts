import { constants, existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { stampOf } from '../checkout/kept-program.ts';
import type { BuildOutput, BuildTool, KnownBuild, Sources, UpToDate } from '../checkout/language.ts';
import { runTool } from '../machine/tool.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { keepProgram, linkAs, type Program, removeOldPrograms, restoreKept } from './programs.ts';

interface Finished {
  fromMs: number;
  ms: number;
  /** What the program was built from, if none of it has changed since: then the kept program was used, and no build tool was run. */
  unchanged?: Sources | undefined;
}

/** `fromMs`: when the build began, on the clock of Date.now(). What was saved later might not be in the program. */
export type BuildOutcome =
  | (Finished & { ok: true; program: Omit<Program, 'build' | 'fromMs'> })
  | { ok: false; ms: number; output: string };

/** A command that writes sources and manifests of the checkout. */
export interface Generation {
  command: string[];
  cwd: string;
  /** Whether it has just run for the first build. */
  isDone?: boolean;
}

export interface BuildPlan {
  cwd: string;
  /** The build command; undefined if the program is built already. */
  build: string[] | undefined;
  /** What runs before each build. */
  generate?: Generation | undefined;
  output?: BuildOutput;
  /** The build tool of the checkout, which the build command runs, or is; absent if devloop does not know it. */
  tool?: BuildTool | undefined;
  /** What to do if the build fails because of flags that devloop chose. */
  withoutChosen?: string | undefined;
  run: string[];
  /** The name under which a built program is started; absent if it does not matter. */
  runAs?: string | undefined;
  /** The file beside which built programs are stored. */
  stateFile: string;
  /** Where the newest program is kept for the next session, which then skips the link step if nothing changed. */
  keptProgram?: string | undefined;
  /** The kept program, if it may be what the first build of this session would make. */
  upToDate?: UpToDate | undefined;
}

export interface BuildIo {
  signal: AbortSignal;
  emit?: Emit | undefined;
  /** Called with what the build prints, as it arrives. */
  onErrors(text: string): void;
}

/** Puts the newest program of the last session where the first build of this one will find it. */
export async function prepareFirst(plan: BuildPlan): Promise<void> {
  const { tool, output, keptProgram } = plan;
  if (keptProgram === undefined || typeof output !== 'number') return;
  // A power cut can leave an empty file, and a build tool may refuse to write over what is not a program.
  if (tool?.contentOf && (await tool.contentOf(keptProgram)) === undefined) return;
  await restoreKept(keptProgram, programFile(plan, 0));
}

function programFile({ stateFile }: BuildPlan, build: number): string {
  return join(dirname(stateFile), `controller-${build}`);
}

/**
 * Builds program number `build` of a session. Each build writes a new file, so it neither disturbs the running program nor leaves half a
 * program behind. Without a build command, every change counts as a new program.
 */
export async function buildProgram(plan: BuildPlan, build: number, io: BuildIo): Promise<BuildOutcome> {
  const { build: command, output, run, runAs, cwd, keptProgram } = plan;
  if (command === undefined)
    return { ok: true, fromMs: Date.now(), ms: 0, program: { run, content: undefined, file: undefined } };
  if (output === 'same file') return await buildAndCopy(plan, build, io);
  if (output === undefined) return await runBuild(command, plan, { run, file: undefined }, io);
  const binary = programFile(plan, build);
  const program = { run: run.with(0, await linkAs(runAs, binary)), file: binary };
  const known = { cwd, command, output };
  // What was generated can differ from what the kept program was built from.
  const finished = build === 0 && !plan.generate ? await finishedBefore(plan, known, binary) : undefined;
  const outcome = finished
    ? await built(program, plan, finished)
    : await runBuild(command.with(output, binary), plan, program, io);
  if (keptProgram !== undefined && outcome.ok) await keepProgram(binary, keptProgram);
  if (keptProgram !== undefined && outcome.ok) await plan.tool?.noteBuild?.(keptProgram, known);
  if (keptProgram !== undefined && build === 0) await removeOldPrograms(dirname(keptProgram)).catch(() => {});
  return outcome;
}

/**
 * Copies what the build made. A hard link would be the same file for tools that write into it, and the next build would then write into the
 * running program. The build tool leaves the file as it is if nothing has changed, so its stamp stands for its content.
 */
async function buildAndCopy(plan: BuildPlan, build: number, io: BuildIo): Promise<BuildOutcome> {
  const { build: command = [], run, runAs } = plan;
  const made = run[0]!;
  const outcome = await runBuild(command, plan, { run, file: undefined }, io);
  if (!outcome.ok) return outcome;
  const binary = programFile(plan, build);
  const content = await stampOf(made);
  if (content === undefined) return { ok: false, ms: outcome.ms, output: `The build did not make ${made}.` };
  await copyFile(made, binary, constants.COPYFILE_FICLONE);
  return { ...outcome, program: { run: run.with(0, await linkAs(runAs, binary)), content, file: binary } };
}

/** The kept program in `binary` as the outcome of this build, if the build would make the same one. */
async function finishedBefore(
  { keptProgram, upToDate }: BuildPlan,
  build: KnownBuild,
  binary: string,
): Promise<Finished | undefined> {
  if (keptProgram === undefined || !upToDate?.isMadeBy(build) || !existsSync(binary)) return undefined;
  // Another session may have kept another program since.
  if ((await stampOf(keptProgram)) !== upToDate.program) return undefined;
  const { fromMs, sources } = upToDate;
  return { fromMs, ms: 0, unchanged: sources };
}

/** Runs the build in devloop's environment, not in the controller's. An abort ends all processes of the build, and rejects. */
async function runBuild(
  command: string[],
  plan: BuildPlan,
  program: Omit<Program, 'content' | 'build' | 'fromMs'>,
  io: BuildIo,
): Promise<BuildOutcome> {
  const { cwd, tool, stateFile } = plan;
  const { signal, onErrors, emit } = io;
  const fromMs = Date.now();
  const start = performance.now();
  const own = tool?.builds(command) ? { env: tool.environment(await temporaryBeside(stateFile)) } : {};
  const words = tool?.verbose(command) ?? command;
  const { missing, code, output } = await runTool(words, { cwd, ...own, signal, onErrors });
  const ms = Math.round(performance.now() - start);
  // The system reports the same error for a missing command and a missing directory.
  const absent = existsSync(cwd) ? `${command[0]}: command not found` : `${cwd} does not exist`;
  if (missing) return { ok: false, ms, output: absent };
  const complaint = code === 0 ? undefined : await tool?.takeOut?.(command, output);
  if (complaint !== undefined) {
    emit?.(notice('build.calls-untagged', { complaint }));
    return await runBuild(command, plan, program, io);
  }
  if (code !== 0) return { ok: false, ms, output: (tool?.withoutProgress(output) ?? output).trimEnd() };
  return await built(program, plan, { fromMs, ms });
}

/** The directory is removed with the session. If it cannot be made, the build tool says why. */
async function temporaryBeside(stateFile: string): Promise<string> {
  const directory = join(dirname(stateFile), 'build');
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch(() => {});
  return directory;
}

async function built(
  program: Omit<Program, 'content' | 'build' | 'fromMs'>,
  { cwd, tool }: Pick<BuildPlan, 'cwd' | 'tool'>,
  finished: Finished,
): Promise<BuildOutcome> {
  return {
    ok: true,
    ...finished,
    program: { ...program, content: await tool?.contentOf?.(resolve(cwd, program.run[0]!)) },
  };
}
