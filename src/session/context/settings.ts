import { dirname } from 'node:path';
import { type Config, loadConfig } from '../../config/load.ts';
import { mergeSettings, type Settings } from '../../config/merge.ts';
import type { Given } from '../../config/table.ts';
import { DevloopError } from '../../errors.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from './options.ts';

export interface LoadedSettings {
  settings: Settings;
  /** The devloop.yaml that was read, if there is one. */
  file?: string;
}

/**
 * The settings of one command: the only place where flags, environment variables and devloop.yaml meet. `down` and `status` pass
 * `optional`: they ignore a devloop.yaml with errors, which must not keep anybody from restoring the cluster.
 */
export async function loadSettings(
  given: Given,
  { cwd, env, emit }: Pick<Io, 'cwd' | 'env' | 'emit'>,
  needed: 'required' | 'optional' = 'required',
): Promise<LoadedSettings> {
  const loaded = await loadConfig(cwd).catch((error) => {
    if (needed === 'required' || !(error instanceof DevloopError)) throw error;
    emit(notice('config.ignored', { cause: error.message }));
    return undefined;
  });
  const config: Config = loaded?.config ?? {};
  return { settings: mergeSettings({ given, env, config }), file: loaded?.file };
}

/** Says which devloop.yaml is used. */
export function discoveredFile(file: string, cwd: string): DevloopEvent {
  const source = dirname(file) === cwd ? 'in this directory' : 'found in a parent directory';
  return { type: 'discovered', what: 'setting', value: file, source };
}
