const LISTENING = '0A';

/** The inodes of the sockets that listen on a port, from the text of Linux's /proc/net/tcp or tcp6. */
export function listeningInodes(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix) && fields[3] === LISTENING)
    .map((fields) => fields[9]!);
}

/** The first process of `lsof -F pc`, which prints `p<pid>` and `c<command>` on lines of their own. */
export function firstOfLsof(output: string): { pid: number; command: string } | undefined {
  const pid = /^p(\d+)$/m.exec(output)?.[1];
  return pid === undefined ? undefined : { pid: Number(pid), command: /^c(.*)$/m.exec(output)?.[1] ?? '' };
}
