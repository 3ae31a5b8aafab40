import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configFile } from '../../config/load.ts';

/**
 * The first of these that exists: the directory of devloop.yaml, the nearest directory with a go.mod, the nearest directory with a .git.
 * The search goes from `cwd` upwards. If none of them exists, `cwd` itself is the root.
 */
export function checkoutRoot(cwd: string): string {
  const config = configFile(cwd);
  if (config !== undefined) return dirname(config);
  for (const sign of ['go.mod', '.git']) {
    for (let directory = cwd; ; directory = dirname(directory)) {
      if (existsSync(join(directory, sign))) return directory;
      if (dirname(directory) === directory) break;
    }
  }
  return cwd;
}

export const SIGNS_OF_A_CHECKOUT = ['go.mod', '.git', 'devloop.yaml'];

export function isCheckout(root: string): boolean {
  return SIGNS_OF_A_CHECKOUT.some((sign) => existsSync(join(root, sign)));
}
