import type { CommandContext } from './context.ts';
import type { UpOptions } from './options.ts';

/** Whether the controller's calls pass the API proxy. */
export function isProxied({ settings }: Pick<CommandContext, 'settings'>): boolean {
  return settings.api.value === 'proxy';
}

/** Whether devloop builds what runs here, rather than running a command of the user. */
export function buildsProgram({
  context,
  options,
}: {
  context: Pick<CommandContext, 'settings'>;
  options: Pick<UpOptions, 'controller'>;
}): boolean {
  return options.controller && context.settings['controller.run'].value === undefined;
}
