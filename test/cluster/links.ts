import { readFileSync } from 'node:fs';

/** The names of all network interfaces in this process's network. /sys would show those of the network in which it was mounted. */
export function links(): string[] {
  const table = readFileSync('/proc/self/net/dev', 'utf8');
  return [...table.matchAll(/^ *(\S+?):/gm)].map(([, name]) => name!);
}
