import { InvalidArgumentError } from 'commander';
import type { Form } from '../config/forms.ts';
import { durationMs } from '../phrases.ts';

export function parsePort(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('Expected a port number from 1 to 65535.');
  return port;
}

/** A parser of flags whose value has this form. */
export function parseForm({ expected, fits }: Form): (value: string) => string {
  return (value) => {
    if (!fits(value)) throw new InvalidArgumentError(`Expected ${expected}.`);
    return value;
  };
}

/** Like `parseForm`, for a flag that can be repeated. */
export function collectForms(form: Form): (value: string, earlier?: string[]) => string[] {
  const parse = parseForm(form);
  return (value, earlier = []) => [...earlier, parse(value)];
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

export function parseSeconds(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError('Expected a number of seconds from 1.');
  return Number(value);
}

/** The name of a set becomes the name of a file. */
/** A number of at least 1. */
export function parseCount(value: string): number {
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Expected a number of at least 1.');
}

export function parseSetName(value: string): string {
  if (!/^[A-Za-z0-9][\w.-]{0,99}$/.test(value))
    throw new InvalidArgumentError('Expected a name of letters, digits, dots, dashes and underscores.');
  return value;
}
