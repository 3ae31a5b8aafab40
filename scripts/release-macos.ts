import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeFiles } from './release/files.ts';
import { signForMacos } from './release/macos.ts';

/**
 * `node scripts/release-macos.ts DIR`, on macOS: signs the executables for macOS in the release files of DIR, which `npm run release` has
 * written, and writes anew what depends on them. DEVLOOP_CODESIGN_IDENTITY is the name of a Developer ID in the keychain.
 */
const [out] = process.argv.slice(2);
if (out === undefined) throw new Error('say in which directory the release files are');
const manifest = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8');
const { version } = JSON.parse(manifest) as { version: string };
signForMacos(resolve(out), process.env.DEVLOOP_CODESIGN_IDENTITY || undefined);
writeFiles({ out: resolve(out), version, say: (text) => console.error(`> release: ${text}`) }, process.env);
