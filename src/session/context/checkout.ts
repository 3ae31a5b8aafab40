import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configFile, insideCheckout } from '../../config/load.ts';

/**
 * The first of these that exists: the directory of devloop.yaml, the nearest directory in which a program of a known language begins, the
 * nearest directory with a .git. The search goes from `cwd` upwards, and ends at the .git. If none of them exists, `cwd` itself is the root.
 */
export async function checkoutRoot(cwd: string): Promise<string> {
  const config = configFile(cwd);
  if (config !== undefined) return dirname(config);
  const inside = insideCheckout(cwd);
  if (inside.length === 1) return cwd;
  const { rootOfProgram } = await import('../../languages.ts');
  return (await rootOfProgram(inside)) ?? inside.at(-1)!;
}

/** Names a checkout's files in directories of devloop's that outlive its sessions: 16 hexadecimal digits. */
export function checkoutId(root: string): string {
  return createHash('sha256').update(root).digest('hex').slice(0, 16);
}

export const SIGNS_OF_A_CHECKOUT = ['go.mod', '.git', 'devloop.yaml'];

export function isCheckout(root: string): boolean {
  return insideCheckout(root).some((directory) =>
    SIGNS_OF_A_CHECKOUT.some((sign) => existsSync(join(directory, sign))),
  );
}
