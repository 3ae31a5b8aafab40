import { dirname, join, relative } from 'node:path';
import { jsonSchema } from '../../config/json-schema.ts';
import { configFile } from '../../config/load.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from '../context/options.ts';

/** Where npm installs devloop if it is a dependency of the checkout. */
const INSTALLED = 'node_modules/kube-devloop/schema/devloop.schema.json';
const COPY = 'devloop.schema.json';

/**
 * Makes the first line of devloop.yaml name its JSON Schema, so that editors complete and check the settings. A path on this machine would be
 * wrong in another clone, so the schema is the one of devloop in the checkout's node_modules, or else a copy beside devloop.yaml. Resolves to
 * false if there is no devloop.yaml.
 */
export async function linkSchema(
  { cwd, emit }: Pick<Io, 'cwd' | 'emit'>,
  write: (file: string, text: string) => Promise<void>,
): Promise<boolean> {
  const file = configFile(cwd);
  if (file === undefined) return false;
  const text = await readTextFile(file);
  const linked = /^# yaml-language-server: \$schema=(?:\.\/)?(\S+)/m.exec(text)?.[1];
  const isInstalled = (await readTextFile(join(dirname(file), INSTALLED))) !== '';
  const schema = linked ?? (isInstalled ? INSTALLED : COPY);
  // The copy of an older devloop does not know the newest settings.
  if (schema === COPY) await refresh(join(dirname(file), COPY), write);
  if (linked === undefined) await write(file, `# yaml-language-server: $schema=./${schema}\n${text}`);
  emit(notice('init.schema', { file: relative(cwd, file), schema }));
  return true;
}

async function refresh(file: string, write: (file: string, text: string) => Promise<void>): Promise<void> {
  const text = `${JSON.stringify(jsonSchema(), null, 2)}\n`;
  if ((await readTextFile(file)) !== text) await write(file, text);
}
