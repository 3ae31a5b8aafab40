import { posix } from 'node:path';
import type { Value } from '../flags.ts';

type Values = (Value | undefined)[];

/** Functions whose value follows from those of their arguments, with the paths of their packages. */
export const FUNCTIONS = new Map<string, (values: Values) => Value | undefined>([
  ['path.Join', joined],
  ['path/filepath.Join', joined],
  ['fmt.Sprintf', printed],
  ['strconv.Itoa', ([value]) => (typeof value === 'number' ? `${value}` : undefined)],
]);

/** Constants of packages that no checkout contains. */
export const FOREIGN = new Map<string, Value>([
  ['k8s.io/client-go/tools/clientcmd.RecommendedConfigPathFlag', 'kubeconfig'],
  ['k8s.io/client-go/tools/clientcmd.RecommendedConfigPathEnvVar', 'KUBECONFIG'],
]);

export const BOOLEANS = new Map<string, Value>([
  ['true', true],
  ['false', false],
]);

function joined(values: Values): string | undefined {
  const parts = values.filter((value) => typeof value === 'string');
  return parts.length === values.length && parts.some((part) => part !== '')
    ? posix.join(...parts)
    : undefined;
}

function printed([format, ...values]: Values): string | undefined {
  if (typeof format !== 'string') return undefined;
  let isKnown = true;
  const text = format.replace(/%([\s\S]?)/g, (_, verb: string) => {
    if (verb === '%') return '%';
    const value = values.shift();
    isKnown &&= value !== undefined && ['s', 'd', 'v'].includes(verb);
    return `${value}`;
  });
  return isKnown && values.length === 0 ? text : undefined;
}

export function integer(text: string): number | undefined {
  const value = Number(text.replaceAll('_', ''));
  return Number.isInteger(value) ? value : undefined;
}

export function operated(operator: string, value: Value | undefined): Value | undefined {
  if (operator === '!' && typeof value === 'boolean') return !value;
  return operator === '-' && typeof value === 'number' ? -value : undefined;
}

export function added(left: Value | undefined, right: Value | undefined): Value | undefined {
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  return typeof left === 'number' && typeof right === 'number' ? left + right : undefined;
}
