import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type BuildOutcome, runBuild } from './build.ts';

export interface ProgramPlan {
  cwd: string;
  build: string[] | undefined;
  run: string[];
  stateFile: string;
}

/** A built program. */
export interface Program {
  run: string[];
  content: string | undefined;
  /** Ours to remove when another has taken its place. */
  file: string | undefined;
}

export type Built = BuildOutcome & { program: Program };

/**
 * A build that names the program by `-o` gets a new file each time, so that it neither disturbs the running program nor
 * leaves half of one behind; any other build writes where it wants.
 */
export async function buildProgram(plan: ProgramPlan, build: number, signal: AbortSignal): Promise<Built> {
  const command = plan.build ?? [];
  const output = command.indexOf('-o') + 1;
  const named = output > 0 && command[output] === plan.run[0];
  const binary = named
    ? join(dirname(plan.stateFile), `controller-${build}`)
    : resolve(plan.cwd, plan.run[0]!);
  const outcome = await runBuild({
    command: named ? command.with(output, binary) : command,
    cwd: plan.cwd,
    binary,
    signal,
  });
  const run = named ? plan.run.with(0, binary) : plan.run;
  const content = outcome.ok ? outcome.content : undefined;
  return { ...outcome, program: { run, content, file: named ? binary : undefined } };
}

export async function removeProgram(program: Program | undefined): Promise<void> {
  if (program?.file !== undefined) await rm(program.file, { force: true });
}
