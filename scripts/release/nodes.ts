import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PLATFORMS, type Release } from './step.ts';

interface Locked {
  version: string;
  integrity: string;
}

/**
 * Downloads Node for each platform: the packages that npm would install there with devloop (docs/adr/0015), in the versions and with the
 * checksums of the lock file.
 */
export function downloadNodes({ root, work }: Pick<Release, 'root' | 'work'>): Release['nodes'] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const entries = PLATFORMS.map((platform) => {
    const name = [`node-${platform}`, `node-bin-${platform}`].find((one) => packages[`node_modules/${one}`]);
    if (name === undefined) throw new Error(`package-lock.json has no Node for ${platform}`);
    const { version, integrity } = packages[`node_modules/${name}`]!;
    return [platform, { name, version, directory: unpacked(work, `${name}@${version}`, integrity) }] as const;
  });
  return Object.fromEntries(entries) as Release['nodes'];
}

/** The directory of a package of the registry with this checksum. */
export function unpacked(work: string, spec: string, integrity: string): string {
  const directory = join(work, spec.replace('/', '+'));
  mkdirSync(directory);
  const pack = ['pack', spec, '--silent', '--pack-destination', directory];
  const file = join(directory, execFileSync('npm', pack, { encoding: 'utf8', cwd: work }).trim());
  const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (found !== integrity) throw new Error(`${spec} has the checksum ${found}, expected ${integrity}`);
  execFileSync('tar', ['xzf', file, '-C', directory, '--strip-components=1', '--no-same-owner']);
  return directory;
}
