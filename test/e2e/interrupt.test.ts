/** When `npm test` is interrupted in the middle of an end-to-end file, it leaves nothing on the machine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cgroupsOf } from '../cluster/cgroups.ts';
import { links } from '../cluster/links.ts';
import { PREFIX } from '../machine/remove.ts';
import { eventually } from '../support/eventually.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The command lines of all processes on this machine, which belongs to this file alone. */
function processes(): string[] {
  const commandOf = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    } catch {
      return ''; // It has ended.
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandOf)
    .filter(Boolean)
    .sort();
}

const machines = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX));

async function traces(ofMachines: string[]): Promise<object> {
  const cgroups = (await Promise.all(ofMachines.map(cgroupsOf))).flat();
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes('nsfs'));
  return { processes: processes(), machines: machines(), cgroups, links: links(), mounted };
}

it.each([
  ['Ctrl-C, which the terminal sends to all its processes', 'SIGINT', (pid: number) => -pid],
  ['SIGTERM to npm alone', 'SIGTERM', (pid: number) => pid],
] as const)('%s ends every box, network and process', async (_, signal, target) => {
  const before = await traces([]);
  const child = spawn('npm', ['test', '--', 'test/e2e/cluster.test.ts'], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  // A test of that file runs a Pod.
  await eventually(async () => expect(processes()).toContain('/pause'), 60_000);
  const made = machines();
  expect(made).toHaveLength(1);
  expect(await cgroupsOf(made[0]!)).toHaveLength(1);
  process.kill(target(child.pid!), signal);
  await ended;
  // The kernel takes a moment to free the memory of processes that were killed.
  await eventually(async () => expect(await traces(made)).toEqual(before), 5_000);
});
