import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { writeInstallers } from '../../../scripts/release/installers.ts';
import { sha256 } from '../../../scripts/release/sums.ts';
import { releaseFiles } from '../../support/release-files.ts';

const ROOT = join(import.meta.dirname, '../../..');
const URL_OF_FILES = 'https://example.com/o/devloop/releases/download/v1.2.3';

const has = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

test('the checksums are those of all files, as sha256sum writes and checks them', () => {
  const { files } = releaseFiles();
  const lines = readFileSync(join(files, 'SHA256SUMS'), 'utf8').trim().split('\n');
  const names = readdirSync(files, { withFileTypes: true }).flatMap((one) =>
    one.isFile() ? [one.name] : [],
  );
  const listed = names.filter((name) => !name.startsWith('SHA256SUMS')).sort();
  expect(lines).toEqual(listed.map((name) => `${sha256(join(files, name))}  ${name}`));
  expect(listed).toContain('install.sh');
});

test('the signature is one of ssh-keygen, over the checksums, for releases of devloop', () => {
  const { files, home } = releaseFiles();
  const [, key] = /^PUBLIC_KEY='(.+)'$/m.exec(readFileSync(join(files, 'install.sh'), 'utf8'))!;
  expect(readFileSync(join(home, '../key.pub'), 'utf8')).toBe(`${key} for a test\n`);
  const about = ['-n', 'devloop-release', '-s', join(files, 'SHA256SUMS.sig')];
  const input = readFileSync(join(files, 'SHA256SUMS'));
  execFileSync('ssh-keygen', ['-Y', 'check-novalidate', ...about], {
    input,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
});

test('krew gets one platform for each archive', () => {
  const { files } = releaseFiles({ url: URL_OF_FILES });
  const manifest = parse(readFileSync(join(files, 'krew/devloop.yaml'), 'utf8'));
  expect(manifest).toMatchObject({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'devloop' },
    spec: { version: 'v1.2.3', homepage: 'https://example.com/o/devloop' },
  });
  // krew's own limit.
  expect(manifest.spec.shortDescription.length).toBeLessThanOrEqual(50);
  const platforms = manifest.spec.platforms as {
    selector: { matchLabels: object };
    uri: string;
    sha256: string;
  }[];
  expect(platforms.map(({ selector }) => selector.matchLabels)).toEqual([
    { os: 'linux', arch: 'amd64' },
    { os: 'linux', arch: 'arm64' },
    { os: 'darwin', arch: 'arm64' },
    { os: 'darwin', arch: 'amd64' },
  ]);
  for (const platform of platforms) {
    const name = platform.uri.replace(`${URL_OF_FILES}/`, '');
    const contents = [
      { from: 'devloop', to: '.' },
      { from: 'LICENSE', to: '.' },
      { from: 'THIRD-PARTY-LICENSES.txt', to: '.' },
    ];
    expect(platform).toMatchObject({ sha256: sha256(join(files, name)), bin: 'devloop', files: contents });
  }
});

test('the formula of Homebrew has the same archives', () => {
  const { files } = releaseFiles({ url: URL_OF_FILES });
  const formula = readFileSync(join(files, 'homebrew/devloop.rb'), 'utf8');
  const archives = globSync('*.tar.gz', { cwd: files }).sort();
  const pairs = [...formula.matchAll(/url "(.+)\/(.+)"\n +sha256 "(.+)"/g)].map(([, ...pair]) => pair);
  expect(pairs.sort((a, b) => (a[1]! < b[1]! ? -1 : 1))).toEqual(
    archives.map((name) => [URL_OF_FILES, name, sha256(join(files, name))]),
  );
  if (has('ruby')) execFileSync('ruby', ['-c'], { input: formula });
});

test('nothing that a shell reads as more than a word gets into install.sh', () => {
  const { files } = releaseFiles();
  const known = { version: '1.2.3', publicKey: '', url: '' };
  for (const wrong of [
    { version: "1'; rm" },
    { publicKey: 'ssh-ed25519 $(id)' },
    { url: 'http://example.com' },
  ])
    expect(() => writeInstallers(files, { ...known, ...wrong })).toThrow();
});

test.runIf(has('shellcheck'))('shellcheck finds nothing in the scripts', () => {
  const scripts = globSync('release/*.sh', { cwd: ROOT });
  expect(scripts).toHaveLength(2);
  execFileSync('shellcheck', ['--shell=sh', ...scripts], { cwd: ROOT });
});
