import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const SUMS = 'SHA256SUMS';
/** What a signature is for, so that one of another purpose is none for a release. */
const NAMESPACE = 'devloop-release';

/** Writes the checksums of all files of a release, in the form of sha256sum. Files in directories are not part of it. */
export function writeSums(out: string): void {
  rmSync(join(out, `${SUMS}.sig`), { force: true });
  const files = readdirSync(out, { withFileTypes: true }).filter((one) => one.isFile() && one.name !== SUMS);
  const lines = files.map(({ name }) => `${sha256(join(out, name))}  ${name}\n`);
  writeFileSync(join(out, SUMS), lines.sort((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join(''));
}

/** Signs the checksums with an SSH key, which can be one of an agent or of a hardware token: then `key` is its public file. */
export function signSums(out: string, key: string): void {
  rmSync(join(out, `${SUMS}.sig`), { force: true });
  execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-f', key, '-n', NAMESPACE, join(out, SUMS)], {
    stdio: ['inherit', 'inherit', 'inherit'],
  });
}

/** The public half of a key, without its comment. */
export function publicKeyOf(key: string): string {
  const line = key.endsWith('.pub')
    ? readFileSync(key, 'utf8')
    : execFileSync('ssh-keygen', ['-y', '-f', key], { encoding: 'utf8' });
  return line.trim().split(/\s+/).slice(0, 2).join(' ');
}

export function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
