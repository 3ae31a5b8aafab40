import { existsSync } from 'node:fs';
import { runTool } from '../machine/tool.ts';
import type { Generation } from './build.ts';
import type { Supervised } from './supervised.ts';

/** Why what has to be generated before a build was not; `ms`: how long it took. */
export interface NotGenerated {
  ok: false;
  ms: number;
  output: string;
}

/** Runs what the user wants to be generated before each build. Undefined if that succeeds, or nothing is to be generated. */
export async function generateFirst(
  supervised: Supervised,
  number: number,
  signal: AbortSignal,
): Promise<NotGenerated | undefined> {
  const { generate } = supervised.plan;
  if (generate === undefined || (number === 0 && generate.isDone)) return undefined;
  const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
  supervised.generatedSpan = span;
  try {
    return await runGeneration(generate, signal);
  } finally {
    span.toMs = Date.now();
  }
}

/** Runs the command in devloop's environment. An abort ends all of its processes, and rejects. */
export async function runGeneration(
  { command, cwd }: Pick<Generation, 'command' | 'cwd'>,
  signal: AbortSignal,
): Promise<NotGenerated | undefined> {
  const start = performance.now();
  const { missing, code, output } = await runTool(command, { cwd, signal });
  if (code === 0) return undefined;
  const absent = existsSync(cwd) ? 'command not found' : `${cwd} does not exist`;
  const said = missing ? absent : output.trimEnd();
  return { ok: false, ms: Math.round(performance.now() - start), output: `${command.join(' ')}:\n${said}` };
}
