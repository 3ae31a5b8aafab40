import { flagName } from '../config/flags.ts';
import type { Settings } from '../config/merge.ts';
import { type Given, KEYS, type Key, rowOf } from '../config/table.ts';
import type { DevloopEvent } from '../report/events.ts';
import type { Io } from './context/options.ts';
import { discoveredFile, loadSettings } from './context/settings.ts';

/** Prints every setting as `up` would use it, and where it comes from. Needs no cluster. */
export async function showSettings(given: Given, io: Io): Promise<void> {
  const { settings, file } = await loadSettings(given, io);
  if (file !== undefined) io.emit(discoveredFile(file, io.cwd));
  for (const key of KEYS) io.emit(settingEvent(settings, key));
}

export function settingEvent(settings: Settings, key: Key): DevloopEvent {
  const { value, from } = settings[key];
  const { otherwise, isSecret, flag, variable } = rowOf(key);
  const names = {
    flag: flag && flagName(flag),
    environment: variable,
    'devloop.yaml': 'devloop.yaml',
    default: 'default',
  };
  return {
    type: 'setting',
    key,
    ...(value === undefined ? { otherwise: otherwise ?? 'discovered' } : { value: shown(value, isSecret) }),
    from: from.map((place) => names[place] ?? place),
  };
}

/** The value as devloop.yaml would have it. Of secret ones, only the names are shown. */
function shown(value: unknown, isSecret = false): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if ('ssh' in value && !isSecret) return `ssh:${value.ssh}`;
  return isSecret ? Object.fromEntries(Object.keys(value).map((name) => [name, '(hidden)'])) : value;
}
