import { isPortBusy } from '../machine/port.ts';

/** Matches a port, or an address of this machine with a port. */
const LOCAL = /^(?:(0\.0\.0\.0|127\.0\.0\.1|localhost|\[::1?\])?:)?(\d{2,5})$/;

/** A port of this machine that replaces a port of the Pod, and why. */
export interface OtherPort {
  port: number;
  because: string;
}

/** If a program listens on this port, the system chooses a free one. */
export const ANY_PORT = 0;

/** The port that a value names; undefined for an address of another machine. */
export function portOf(value: string): number | undefined {
  const digits = LOCAL.exec(value)?.[2];
  return digits !== undefined && Number(digits) < 65_536 ? Number(digits) : undefined;
}

/**
 * The address (or a port without an address) with another port. A loopback address stays a loopback address: other machines must not reach
 * Go's profiler.
 */
export function withPort(address: string, port: number): string {
  return address.replace(LOCAL, (all, _host, digits: string) => all.slice(0, -digits.length) + port);
}

/** The ports on which something on this machine listens. Each is tried once, because two attempts at the same moment would collide. */
export async function busyAmong(ports: number[]): Promise<number[]> {
  const different = [...new Set(ports)];
  const busy = await Promise.all(different.map((port) => isPortBusy(port)));
  return different.filter((_, index) => busy[index]);
}
