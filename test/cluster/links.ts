import { readFileSync } from 'node:fs';

/** The names of all network interfaces of this process's network. /sys would show those of the network that mounted it. */
export function links(): string[] {
  const table = readFileSync('/proc/self/net/dev', 'utf8');
  return [...table.matchAll(/^ *(\S+?):/gm)].map(([, name]) => name!);
}
