import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WRITERS } from '../../scripts/release/executables.ts';
import { downloadNodes, unpacked } from '../../scripts/release/nodes.ts';
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
  log('downloading Node for each platform of a release');
  fillCache();
}

/** What a release downloads is then in npm's cache. */
function fillCache(): void {
  const work = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    downloadNodes({ root: join(import.meta.dirname, '../..'), work });
    for (const [spec, integrity] of Object.entries(WRITERS)) unpacked(work, spec, integrity);
  } finally {
    rmSync(work, { recursive: true });
  }
}
