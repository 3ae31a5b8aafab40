import type { Io } from '../session/context/options.ts';

export interface OutputOptions {
  json: boolean;
  /** Whether the command, when interrupted, has something to restore that is worth waiting for. */
  restores: boolean;
  verbosity: 'quiet' | 'normal' | 'verbose';
  /** Set if the command waits for something that may take months, such as a renewal, so that its silence is normal. */
  isPatient?: true;
}

export type Task = (io: Io) => Promise<void>;

/** What the commands need from the program. */
export interface Shell {
  /** How the user started devloop: `devloop` or `kubectl devloop`. */
  name: string;
  version: string;
  /** Writes help and completion scripts to stdout: they are text rather than events. */
  write(text: string): void;
  /** The width of the terminal, if stdout is one. */
  readonly columns?: number | undefined;
  run(output: OutputOptions, task: Task): Promise<void>;
}
