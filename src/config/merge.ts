import { DevloopError } from '../errors.ts';
import { fromText } from './from-text.ts';
import {
  type Config,
  type Given,
  KEYS,
  type Key,
  type Row,
  rowOf,
  type SETTINGS,
  type Section,
  type Value,
  valueIn,
} from './table.ts';

/** Where the value of a setting comes from. */
export type Place = 'flag' | 'environment' | 'devloop.yaml' | 'default';

export interface Setting<T> {
  value: T;
  /** Several if the values of a flag are added to those of devloop.yaml. */
  from: [Place, ...Place[]];
}

type Default<K extends Key> = (typeof SETTINGS)[K] extends Row<unknown, infer D> ? D : undefined;

/** All settings with their values: one that has no default can be undefined, and is then discovered where it is needed. */
export type Settings = {
  [K in Key]: Setting<Default<K> extends undefined ? Value<K> | undefined : Value<K>>;
};

export interface Sources {
  /** What the command line sets. */
  given: Given;
  env: Record<string, string | undefined>;
  config: Config;
}

/**
 * The value of every setting: flags take precedence over environment variables, these over devloop.yaml, and that over the default. Throws
 * 'usage.invalid' if a variable contains something else than its setting takes.
 */
export function mergeSettings({ given, env, config }: Sources): Settings {
  const replaced = new Set(
    KEYS.flatMap((key) => (given[key] === undefined ? [] : (rowOf(key).flagReplaces ?? []))),
  );
  const merged = KEYS.map((key) => {
    const inFile = replaced.has(key) ? undefined : valueIn(config, key);
    return [key, merge(key, given[key], fromEnvironment(key, env), inFile)] as const;
  });
  return Object.fromEntries(merged) as Settings;
}

function merge(key: Key, byFlag: unknown, byVariable: unknown, inFile: unknown): Setting<unknown> {
  if (Array.isArray(byFlag) && Array.isArray(inFile) && rowOf(key).isAdded)
    return { value: [...byFlag, ...inFile], from: ['flag', 'devloop.yaml'] };
  if (byFlag !== undefined) return { value: byFlag, from: ['flag'] };
  if (byVariable !== undefined) return { value: byVariable, from: ['environment'] };
  if (inFile !== undefined) return { value: inFile, from: ['devloop.yaml'] };
  return { value: rowOf(key).default, from: ['default'] };
}

function fromEnvironment(key: Key, env: Sources['env']): unknown {
  const { kind, variable, about } = rowOf(key);
  const text = variable === undefined ? undefined : env[variable];
  if (text === undefined) return undefined;
  const read = fromText(kind.shape, text);
  if ('value' in read) return read.value;
  // A shell script can only empty what it inherits.
  if (text === '') return undefined;
  throw new DevloopError('usage.invalid', `${variable} is '${text}'. Expected ${read.expected}.`, {
    hint: `Set it to the ${about}, or unset it.`,
  });
}

/** What the user chose; undefined if it is the default, so that a command with another default can use that. */
export function chosen<T>({ value, from }: Setting<T>): T | undefined {
  return from[0] === 'default' ? undefined : value;
}

/** What the rooms of the controller get: the values without their places, except for what names the program. */
export interface ControllerSettings extends Section<'controller'> {
  readySeconds: number;
  graceSeconds: number;
  /** Whether the command line names the program, in `run` or `package`; otherwise devloop.yaml does. */
  isNamedByFlag?: boolean;
}

export function controllerSettings(settings: Settings): ControllerSettings {
  const names = Object.entries(settings).flatMap(([key, { value }]) =>
    key.startsWith('controller.') && value !== undefined ? [[key.slice('controller.'.length), value]] : [],
  );
  const named = [settings['controller.run'], settings['controller.package']];
  return {
    ...(Object.fromEntries(names) as Omit<ControllerSettings, 'isNamedByFlag'>),
    isNamedByFlag: named.some(({ from }) => from[0] === 'flag'),
  };
}
