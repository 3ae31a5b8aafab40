import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Refusal } from './stage.ts';

/** Returns what kubectl printed; rejects with kubectl's own message. */
export async function runKubectl(
  args: string[],
  { program = 'kubectl', env = process.env }: { program?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  try {
    return (await promisify(execFile)(program, args, { env, maxBuffer: 1 << 24 })).stdout;
  } catch (error) {
    const { code, stderr, message } = error as Error & { code?: unknown; stderr?: string };
    if (code === 'ENOENT') throw new Refusal('The demo needs kubectl on the PATH.');
    throw new Error(stderr?.trim() || message);
  }
}
