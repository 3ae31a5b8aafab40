import { type Command, InvalidArgumentError, Option } from 'commander';
import { AFTER_DASHES, type CommandWithSettings, type SettingFlag } from '../config/flags.ts';
import { fromText } from '../config/from-text.ts';
import type { Shape } from '../config/kinds.ts';
import { type Given, KEYS, type Key, rowOf } from '../config/table.ts';
import { notAmong } from './choices.ts';
import { FLAG_GROUPS } from './flag-groups.ts';

interface FlagOfSetting {
  key: Key;
  flag: SettingFlag;
  option: Option;
}

/** Adds the flags of the settings that this command takes: those that choose the cluster and the operator, or the others. */
export function addSettingFlags(command: Command, which: 'of the cluster' | 'others'): Command {
  for (const { flag, option } of flagsOf(commandOf(command)))
    if ((flag.group === 'cluster') === (which === 'of the cluster')) command.addOption(option);
  return command;
}

/** The settings that the flags of this command set. Of a repeated flag for one value, it takes the first. */
export function givenBy(command: CommandWithSettings, flags: object): Given {
  const values = new Map(Object.entries(flags));
  const given = flagsOf(command).map(({ key, flag, option }) => {
    const value: unknown = values.get(option.attributeName());
    return [key, flag.severalFor !== undefined && Array.isArray(value) ? value[0] : value] as const;
  });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

const LIKE_UP = ['config', 'test', 'crashtest'];

function commandOf(command: Command): CommandWithSettings {
  const name = command.name();
  return LIKE_UP.includes(name) ? 'up' : (name as CommandWithSettings);
}

function flagsOf(command: CommandWithSettings): FlagOfSetting[] {
  return KEYS.flatMap((key) => {
    const { flag } = rowOf(key);
    if (flag === undefined || !flag.of.includes(command) || flag.spelled === AFTER_DASHES) return [];
    return { key, flag, option: optionFor(key, flag, command) };
  });
}

function optionFor(key: Key, flag: SettingFlag, command: CommandWithSettings): Option {
  const { kind, about, default: value, otherwise = value } = rowOf(key);
  const { shape } = kind;
  const isRepeatable = shape.is === 'one or more' || shape.is === 'texts' || flag.severalFor === command;
  const more = [
    ...(isRepeatable ? ['repeatable'] : []),
    ...(otherwise === undefined ? [] : [`default: ${otherwise}`]),
  ].join('; ');
  const option = new Option(flag.spelled, more === '' ? about : `${about} (${more})`);
  if (flag.group !== undefined) option.helpGroup(FLAG_GROUPS[flag.group]);
  if (shape.is === 'choice') return option.choices(shape.choices);
  return option.argParser((text: string, earlier: unknown) => {
    const value = parse(shape, text);
    const values = flag.severalFor === undefined ? value : [value];
    return Array.isArray(values) && Array.isArray(earlier) ? [...earlier, ...values] : values;
  });
}

function parse(shape: Shape, text: string): unknown {
  const read = fromText(shape, text);
  if ('value' in read) return read.value;
  const message = `Expected ${read.expected}.`;
  throw read.known === undefined ? new InvalidArgumentError(message) : notAmong(text, read.known, message);
}
