import { execFileSync } from 'node:child_process';
import { ensureOldControlPlane } from '../cluster/build.ts';
import { debugpy } from '../support/debugpy.ts';
import { hasCargo, rustLibraries } from '../support/rust.ts';

/** What only `npm run soak` needs. It runs once before all files, because their machines cannot reach the internet. */
export async function setup(): Promise<void> {
  const log = (line: string): void => console.error(line);
  await ensureOldControlPlane({ log });
  await debugpy(log);
  if (hasCargo) await rustLibraries(log);
  execFileSync(process.execPath, ['scripts/site.mjs'], { stdio: ['ignore', 'inherit', 'inherit'] });
}
