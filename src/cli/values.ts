import { isIP } from 'node:net';
import { InvalidArgumentError } from 'commander';
import { EXPECTED_PATH, jsonPath } from '../config/json-path.ts';
import {
  EXPECTED_NETWORK,
  EXPECTED_ROUTE,
  isImage,
  isNetwork,
  type RouteChoice,
  routeChoice,
  routesLike,
} from '../config/route-choice.ts';
import { durationMs } from '../phrases.ts';
import { notAmong } from './choices.ts';

const LABEL = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const NAMESPACE = new RegExp(`^${LABEL}$`);
const NAME = new RegExp(`^(?:${LABEL}/)?${LABEL}(?:\\.${LABEL})*$`);

export function parsePort(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('Expected a port number from 1 to 65535.');
  return port;
}

export function parseAddress(value: string): string {
  if (isIP(value) === 0) throw new InvalidArgumentError('Expected an IP address, such as 192.168.1.20.');
  return value;
}

export function parseNamespace(value: string): string {
  if (!NAMESPACE.test(value))
    throw new InvalidArgumentError('Expected a namespace: lower-case letters, digits and dashes.');
  return value;
}

function parseName(value: string): string {
  if (!NAME.test(value)) throw new InvalidArgumentError('Expected a name, or namespace/name.');
  return value;
}

export function parsePackage(value: string): string {
  if (value === '' || value.startsWith('-'))
    throw new InvalidArgumentError('Expected a main package, such as ./cmd/manager.');
  return value;
}

export function collectNames(value: string, earlier: string[] = []): string[] {
  return [...earlier, parseName(value)];
}

export function collectNetworks(value: string, earlier: string[] = []): string[] {
  if (!isNetwork(value)) throw new InvalidArgumentError(`Expected ${EXPECTED_NETWORK}.`);
  return [...earlier, value];
}

export function parseRoute(value: string): RouteChoice {
  const choice = routeChoice(value);
  if (choice === undefined) throw notAmong(value, routesLike(value), `Expected ${EXPECTED_ROUTE}.`);
  return choice;
}

export function parseImage(value: string): string {
  if (!isImage(value))
    throw new InvalidArgumentError('Expected an image, such as registry.example.com/node:24-alpine.');
  return value;
}

export function collectPaths(value: string, earlier: string[] = []): string[] {
  if (jsonPath(value) === undefined) throw new InvalidArgumentError(`Expected ${EXPECTED_PATH}.`);
  return [...earlier, value];
}

/** Parses a duration, such as `90s`, `10m` or `2h`, into milliseconds. */
export function parseAge(value: string): number {
  const ms = durationMs(value);
  if (ms === undefined) throw new InvalidArgumentError('Expected a duration, such as 30s, 10m or 2h.');
  return ms;
}

export function parseMilliseconds(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError('Expected a number of milliseconds.');
  return Number(value);
}

/** The name of a set becomes the name of a file. */
export function parseSetName(value: string): string {
  if (!/^[A-Za-z0-9][\w.-]{0,99}$/.test(value))
    throw new InvalidArgumentError('Expected a name of letters, digits, dots, dashes and underscores.');
  return value;
}
