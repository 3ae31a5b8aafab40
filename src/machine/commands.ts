import { platform } from 'node:process';

const isLinux = platform === 'linux';

/** Commands that a user types to look at this machine. Each system has its own programs for that. */
export const commandsHere = {
  listeners: (port: number): string =>
    isLinux ? `ss -ltnp 'sport = :${port}'` : `lsof -nP -iTCP:${port} -sTCP:LISTEN`,
  addresses: isLinux ? 'ip address' : 'ifconfig',
  loopback: isLinux ? 'ip address show dev lo' : 'ifconfig lo0',
};
