import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { links } from './links.ts';

export interface Traces {
  links: string[];
  cgroups: string[];
  processes: { pid: number; command: string }[];
}

export const NO_TRACES: Traces = { links: [], cgroups: [], processes: [] };

/** What is left of a cluster on this machine, found by other means than those that remove it. */
export function traces(dir: string): Traces {
  const name = `dlbox${basename(dir)}`;
  const cgroup = [process.env.DEVLOOP_TEST_MACHINE, name].filter(Boolean).join('-');
  return {
    links: links().filter((link) => link === name),
    cgroups: readdirSync('/sys/fs/cgroup').filter((tree) =>
      entries(`/sys/fs/cgroup/${tree}`).includes(cgroup),
    ),
    processes: readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .map((pid) => ({ pid: Number(pid), command: commandOf(pid) }))
      .filter(({ command }) => command.includes(`${dir}/`)),
  };
}

function entries(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // a file
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // ended meanwhile
  }
}
