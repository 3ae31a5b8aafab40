import { spawn } from 'node:child_process';

/** A program at a terminal of its own. */
export interface Terminal extends AsyncDisposable {
  /** All that was shown so far. */
  shown(): string;
  type(keys: string): void;
  /** The program has ended, and the terminal with it. */
  readonly closed: Promise<void>;
}

export const CTRL_C = '\x03';

/** `script` runs the line with the user's shell, and others end at a Ctrl-C that the line's program handles itself. */
const SHELL = '/bin/bash';

/** Runs a line of Bash. */
export function openTerminal(
  line: string,
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Terminal {
  const child = spawn('script', ['--quiet', '--flush', '--command', line, '/dev/null'], {
    cwd,
    env: { ...process.env, ...env, SHELL },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => (shown += chunk));
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    shown: () => shown,
    type: (keys) => void child.stdin.write(keys),
    closed,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}
