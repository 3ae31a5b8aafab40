import type { Io } from '../session/context/options.ts';

export interface OutputOptions {
  json: boolean;
  /** Whether the command, once told to leave, puts something back that is worth waiting for. */
  putsBack: boolean;
  verbosity: 'quiet' | 'normal' | 'verbose';
}

export type Task = (io: Io) => Promise<void>;

/** What the commands need from the program that they are part of. */
export interface Shell {
  /** What the user typed to get here: `devloop` or `kubectl devloop`. */
  name: string;
  version: string;
  /** To stdout: help and completion scripts, which are text and no events. */
  write(text: string): void;
  run(output: OutputOptions, task: Task): Promise<void>;
}
