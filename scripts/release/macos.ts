import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tarGz } from './archive.ts';

/** What a signed program may still do. V8 compiles, so it needs memory that it can write and run. */
const ENTITLEMENTS = join(import.meta.dirname, '../../release/entitlements.plist');

/**
 * Signs the executables for macOS in the archives of a directory, because macOS on arm64 starts no program without a signature, and Node's own
 * does not fit any more. Only codesign of macOS can do that. `identity` is a Developer ID; without one the signature names nobody.
 */
export function signForMacos(out: string, identity: string | undefined): void {
  for (const name of readdirSync(out).filter((one) => /-darwin-\w+\.tar\.gz$/.test(one))) {
    const work = mkdtempSync(join(tmpdir(), 'devloop-macos-'));
    try {
      execFileSync('tar', ['-xzf', join(out, name), '-C', work]);
      sign(join(work, 'devloop'), identity);
      writeFileSync(join(out, name), tarGz(readdirSync(work).map((file) => entryOf(work, file))));
    } finally {
      rmSync(work, { recursive: true });
    }
  }
}

function sign(file: string, identity: string | undefined): void {
  const options = identity ? ['--timestamp', '--options', 'runtime', '--entitlements', ENTITLEMENTS] : [];
  execFileSync('codesign', ['--force', ...options, '--sign', identity ?? '-', file], { stdio: 'inherit' });
  execFileSync('codesign', ['--verify', '--strict', file], { stdio: 'inherit' });
}

function entryOf(directory: string, name: string) {
  const file = join(directory, name);
  return { name, mode: statSync(file).mode & 0o111 ? 0o755 : 0o644, content: readFileSync(file) };
}
