import {
  type ControllerSettings,
  controllerSettings,
  mergeSettings,
  type Settings,
} from '../../src/config/merge.ts';
import type { Config, Given, Key, Section } from '../../src/config/table.ts';

/** devloop.yaml with this one setting. */
export function withSetting(key: Key, text: string): string {
  const [first = '', inner] = key.split('.');
  return inner === undefined ? `${first}: ${text}\n` : `${first}:\n  ${inner}: ${text}\n`;
}

/** The settings with this devloop.yaml and these flags. */
export function settingsOf(config: Config = {}, given: Given = {}): Settings {
  return mergeSettings({ given, env: {}, config });
}

/** What a controller is planned with if devloop.yaml has this section. */
export function controllerOf(controller: Section<'controller'> = {}, given: Given = {}): ControllerSettings {
  return controllerSettings(settingsOf({ controller }, given));
}
