import { execFile } from 'node:child_process';

export interface RunOptions {
  input?: string;
  cwd?: string;
  env?: Record<string, string>;
}

/** Runs a program to its end and returns its stdout; the error of a failure contains its stderr. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { cwd: options.cwd, env: { ...process.env, ...options.env }, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (!error) resolve(stdout);
        else
          reject(
            new Error(`${program} ${args.join(' ')}: ${stderr.trim() || error.message}`, { cause: error }),
          );
      },
    );
    // A program that ends without reading its input has already said why on stderr.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input);
  });
}
