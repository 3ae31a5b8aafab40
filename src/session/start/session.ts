import type { LocalFiles } from '../../local/key-pair-files.ts';
import type { Target } from '../../operator/target.ts';
import type { CommandContext } from '../context/context.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import type { Io, UpOptions } from '../context/options.ts';
import type { Way } from '../route/routing.ts';

/** One `up`: what all its steps share. */
export interface Session {
  id: string;
  /** In the clock of performance.now(). */
  started: number;
  machine: LocalMachine;
  opened: CommandContext;
  target: Target;
  /** By which the reviews may come here, in the order in which they are tried; none without webhooks. */
  ways: Way[];
  files: LocalFiles;
  /** All that look like absolute paths in the checkout's sources. */
  sourcePaths: ReadonlySet<string>;
  options: UpOptions;
  io: Io;
}
