import { type Command, Option } from 'commander';
import { ownCommand } from '../machine/own-program.ts';
import type { Io } from '../session/context/options.ts';
import { invalid } from './usage.ts';
import { parseAge } from './values.ts';

export interface DetachFlags {
  detach?: true;
  /** Where a process in the background prints to: how `--detach` starts it. */
  detached?: string;
  idle?: number;
}

const IDLE_MS = 4 * 3_600_000;

export function addDetachFlags(command: Command): Command {
  return command
    .option('--detach', 'run in the background: return when the session is ready, which `devloop down` ends')
    .option(
      '--idle <duration>',
      'with --detach: end the session after this time without a save, a review or a command (default: 4h)',
      parseAge,
    )
    .addOption(new Option('--detached <file>').hideHelp());
}

/** Throws 'usage.invalid' if the session cannot run in the background, or does not. */
export function idleOf(
  { detach, detached, dryRun, idle }: DetachFlags & { dryRun?: true },
  deployments: string[],
  typed: string,
): number {
  const isDetached = detach === true || detached !== undefined;
  if (idle !== undefined && !isDetached)
    throw invalid('--idle needs --detach.', `${typed} --detach --idle 1h`);
  if (idle === 0) throw invalid('--idle needs a time of at least a second.', `${typed} --detach --idle 1h`);
  const other = dryRun ? '--dry-run' : deployments.length > 1 ? 'several --deployment flags' : undefined;
  if (isDetached && other) throw invalid(`--detach and ${other} cannot be combined.`, `${typed} --detach`);
  return idle ?? IDLE_MS;
}

/** The same command for the process in the background, which prints to the file. */
function inBackground(file: string): string[] {
  const words = process.argv.slice(2);
  return [...ownCommand(), ...words.toSpliced(words.indexOf('--detach'), 1, '--detached', file)];
}

/** Runs `up` here, or in the background, or as the process in the background. */
export async function runDetachable(
  { detach, detached: file, idleMs }: DetachFlags & { idleMs: number },
  io: Io,
  up: (io: Io) => Promise<void>,
): Promise<void> {
  if (file !== undefined) {
    const { runDetached } = await import('../session/detached.ts');
    return await runDetached({ file, idleMs }, io, up);
  }
  if (!detach) return await up(io);
  const { upDetached } = await import('../session/detach.ts');
  await upDetached({ command: inBackground, idleMs }, io);
}
