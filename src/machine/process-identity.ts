import { readFile } from 'node:fs/promises';
import { runTool } from './tool.ts';

/**
 * When a process started, in words that no other process with the same pid can share: the kernel's start tick with the
 * boot's id on Linux, the start time elsewhere. Undefined when there is no such process (or only its zombie).
 */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return startTimeByPs(pid);
  const fields = await statOf(pid);
  if (!fields || fields.state === 'Z') return undefined;
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  return `${boot.trim()}/${fields.startTick}`;
}

async function startTimeByPs(pid: number): Promise<string | undefined> {
  const { stdout } = await runTool(['ps', '-o', 'lstart=', '-p', String(pid)]);
  return stdout.trim() || undefined;
}

async function statOf(pid: number): Promise<{ state: string; startTick: string } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses and may hold anything, spaces and parentheses included.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0]!, startTick: fields[19]! };
}
