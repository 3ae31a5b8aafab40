import { isPortBusy } from '../machine/port.ts';
import { editSettings } from './settings-file.ts';

/** Matches a word that can stand in a name between what is served and `address` or `port`. */
export const WORD =
  '(?:bind|listen|server|serving|https?|secure|probes?|checks?|health|healthz|metrics|endpoint)';
/**
 * Matches names of settings that choose the address or port of metrics or health checks: `SHOP_METRICS_ADDR`,
 * `health.healthProbeBindAddress`, `metrics.port`.
 */
const AUXILIARY = new RegExp(
  `(?:^|_)(?:metrics|diagnostics|health|healthz|readyz|probes?|pprof|profiler)(?:_${WORD})*_(?:addr|address|port)$`,
);
/** Matches a port, or an address of this machine with a port. */
const LOCAL = /^(?:(0\.0\.0\.0|127\.0\.0\.1|localhost|\[::1?\])?:)?(\d{2,5})$/;

/** A setting of metrics or health checks whose port is in use on this machine. */
export interface PortChange {
  name: string;
  before: string;
  after: string;
  port: number;
}

/** The changes to variables that name a busy port for metrics or health checks. */
export async function variablesOnFreePorts(variables: Record<string, string>): Promise<PortChange[]> {
  const named = Object.entries(variables).flatMap(([name, before]) => {
    const port = auxiliaryPort(name, before);
    return port === undefined ? [] : [{ name, before, after: withPort(before, ANY_PORT), port }];
  });
  return await onBusyPorts(named);
}

/** The busy ports in the settings of configuration files; `fileOnFreePorts` changes these settings. */
export async function busyPortsIn(files: string[]): Promise<number[]> {
  const changes: PortChange[] = [];
  for (const file of files) fileOnFreePorts(file, undefined, (change) => changes.push(change));
  return (await onBusyPorts(changes)).map(({ port }) => port);
}

/**
 * Changes the settings for metrics and health checks in a configuration file so that they name no port in `busy`; undefined if nothing
 * changes. If `busy` is absent, every port counts as busy.
 */
export function fileOnFreePorts(
  text: string,
  busy: number[] | undefined,
  onChange: (change: PortChange) => void,
): string | undefined {
  if (!/addr|port/i.test(text)) return undefined;
  return editSettings(text, (key, outer, before) => {
    const port = auxiliaryPort(key, before) ?? auxiliaryPort(`${outer}_${key}`, before);
    if (port === undefined || busy?.includes(port) === false) return undefined;
    const after = withPort(before, ANY_PORT);
    onChange({ name: key, before, after, port });
    return after;
  });
}

function auxiliaryPort(name: string, value: string): number | undefined {
  return AUXILIARY.test(wordsOf(name)) ? portOf(value) : undefined;
}

/** The words of a name, in the form `health_probe_bind_address`. */
export function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();
}

/** The port that a value names; undefined for an address of another machine. */
export function portOf(value: string): number | undefined {
  const digits = LOCAL.exec(value)?.[2];
  return digits !== undefined && Number(digits) < 65_536 ? Number(digits) : undefined;
}

/** If a program listens on this port, the system chooses a free one. */
const ANY_PORT = 0;

/** The address (or a port without an address) with another port. */
export function withPort(address: string, port: number): string {
  return address.replace(LOCAL, (all, _host, digits: string) => all.slice(0, -digits.length) + port);
}

async function onBusyPorts(changes: PortChange[]): Promise<PortChange[]> {
  const busy = await busyAmong(changes.map(({ port }) => port));
  return changes.filter(({ port }) => busy.includes(port));
}

/** The ports on which something on this machine listens. Each is tried once, because two attempts at the same moment would collide. */
export async function busyAmong(ports: number[]): Promise<number[]> {
  const different = [...new Set(ports)];
  const busy = await Promise.all(different.map((port) => isPortBusy(port)));
  return different.filter((_, index) => busy[index]);
}
