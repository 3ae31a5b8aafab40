import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sha256 } from '../../../scripts/release/sums.ts';
import {
  pathWith,
  type ReleaseFiles,
  releaseFiles,
  serve,
  shell,
  signingKey,
  standIn,
  writeRelease,
} from '../../support/release-files.ts';

/** What install.sh starts, besides a program that downloads. */
const NEEDED = [
  'sh',
  'cat',
  'chmod',
  'cp',
  'dirname',
  'grep',
  'gzip',
  'head',
  'ln',
  'mkdir',
  'mktemp',
  'mv',
  'rm',
  'sed',
  'tar',
];
const LINUX = {
  uname: 'case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac',
  getconf: 'case $1 in LONG_BIT) echo 64 ;; *) echo glibc 2.36 ;; esac',
};
const [SUM, VERIFY] = ['sha256sum', 'ssh-keygen'];
const OWN = process.arch === 'arm64' ? 'linux-arm64' : 'linux-x64';

const installer = ({ files }: ReleaseFiles): string => join(files, 'install.sh');

/** Installs into the target, and expects that nothing else is left anywhere. */
async function install(release: ReleaseFiles, args: string[] = [], more: Parameters<typeof shell>[2] = {}) {
  const ended = await shell([installer(release), '--to', release.target, ...args], release, more);
  expect(readdirSync(release.tmp).filter((name) => !name.startsWith('bin-'))).toEqual([]);
  const installed = existsSync(release.target) ? readdirSync(release.target) : [];
  expect(['', 'devloop,kubectl-devloop,kubectl_complete-devloop']).toContain(installed.join());
  return { ...ended, isInstalled: installed.length > 0 };
}

const versionOf = ({ target }: ReleaseFiles): string =>
  execFileSync(join(target, 'kubectl-devloop'), ['--version'], { encoding: 'utf8' }).trim();

describe.runIf(process.platform === 'linux')('install.sh', () => {
  test.each(['dash', 'bash'])(
    'in %s: installs from its own directory, and a second one upgrades',
    async (name) => {
      const release = releaseFiles();
      const first = await install(release, [], { name });
      expect(first).toMatchObject({ code: 0, error: '' });
      expect(first.out).toMatch(/signature +verified/);
      expect(first.out).toMatch(/checksum +verified/);
      expect(versionOf(release)).toBe('1.2.3');
      expect(execFileSync(join(release.target, 'devloop'), { encoding: 'utf8' })).toContain(OWN);
      expect(lstatSync(join(release.target, 'devloop')).mode & 0o777).toBe(0o755);

      writeRelease(release.files, '1.3.0', standIn('1.3.0'), {});
      expect(await install(release, [], { name })).toMatchObject({ code: 0 });
      expect(versionOf(release)).toBe('1.3.0');
    },
  );

  test('installs from a server, as `curl | sh` does, with curl or wget', async () => {
    const release = releaseFiles();
    const url = await serve(release.files);
    const input = readFileSync(installer(release), 'utf8');
    for (const program of ['curl', 'wget']) {
      const PATH = pathWith(release.tmp, [...NEEDED, SUM, VERIFY, program], LINUX);
      const args = ['-s', '--', '--from', `${url}/`, '--to', release.target];
      const ended = await shell(args, release, { input, env: { PATH } });
      expect(ended, program).toMatchObject({ code: 0, error: '' });
      expect(versionOf(release)).toBe('1.2.3');
      rmSync(release.target, { recursive: true });
    }
    const without = { PATH: pathWith(release.tmp, [...NEEDED, SUM], LINUX) };
    const refused = await install(release, ['--from', url], { env: without });
    expect(refused).toMatchObject({
      code: 1,
      error: expect.stringMatching(/curl.*\n→ /),
      isInstalled: false,
    });
    const missing = await install(release, ['--from', `${url}:1/`]);
    expect(missing).toMatchObject({ code: 1, error: expect.stringContaining('--from'), isInstalled: false });
    const other = await serve(release.home);
    for (const [program, status] of [
      ['curl', '404'],
      ['wget', 'an error'],
    ] as const) {
      const PATH = pathWith(release.tmp, [...NEEDED, SUM, program], LINUX);
      const { error } = await install(release, ['--from', other], { env: { PATH } });
      expect(error).toContain(`install.sh: ${other}/SHA256SUMS answered ${status}\n→ Say where`);
    }
    const nowhere = await shell(['-s'], release, { input });
    expect(nowhere).toMatchObject({ code: 1, error: expect.stringContaining('--from DIR_OR_URL') });
    const published = input.replace(/^RELEASE_URL=.*/m, `RELEASE_URL='${url}'`);
    const ended = await shell(['-s', '--', '--to', release.target], release, { input: published });
    expect(ended).toMatchObject({ code: 0, error: '' });
    expect(versionOf(release)).toBe('1.2.3');
  });

  test.each([
    ['curl', 3, 'Say where'],
    ['curl', 22, 'Say where'],
    ['curl', 22, 'again later', 'echo 503'],
    ['curl', 22, 'your proxy', 'echo 407'],
    ['curl', 23, 'Make room'],
    ['curl', 18, 'the address and'],
    ['wget', 1, 'free space'],
    ['wget', 3, 'Make room'],
    ['wget', 4, 'the address and'],
    ['wget', 8, 'Say where'],
    ['cp', 1, 'Make room'],
  ])('a failure of %s with %i has its own next step: %s', async (program, code, step, prints = ':') => {
    const release = releaseFiles();
    const others = NEEDED.filter((one) => one !== program);
    const PATH = pathWith(release.tmp, [...others, SUM], { ...LINUX, [program]: `${prints}; exit ${code}` });
    const args = program === 'cp' ? [] : ['--from', 'http://127.0.0.1:1'];
    const { error, ...ended } = await install(release, args, { env: { PATH } });
    expect(ended).toMatchObject({ code: 1, isInstalled: false });
    for (const one of [
      'Say where',
      'Make room',
      'the address and',
      'free space',
      'again later',
      'your proxy',
    ])
      expect(error.includes(one), error).toBe(one === step);
  });

  test.each(['curl', 'wget'])(
    '%s gets no more than fits a release, however much a server sends',
    async (program) => {
      const release = releaseFiles({ isSigned: false });
      const input = readFileSync(installer(release), 'utf8').replace(/^MAX_BLOCKS=\d+/m, 'MAX_BLOCKS=64');
      writeFileSync(join(release.files, 'SHA256SUMS'), 'a'.repeat(2 ** 20));
      const PATH = pathWith(release.tmp, [...NEEDED, SUM, program], LINUX);
      const args = ['-s', '--', '--from', await serve(release.files), '--to', release.target];
      const { code, error } = await shell(args, release, { input, env: { PATH } });
      expect({ code, error }).toEqual({ code: 1, error: expect.stringContaining('the address and') });
    },
  );

  test('prints no text of SHA256SUMS, and lets no other user write to the directory that it makes', async () => {
    const release = releaseFiles({ isSigned: false });
    const sums = join(release.files, 'SHA256SUMS');
    const before = readFileSync(sums, 'utf8');
    writeFileSync(sums, before.replaceAll(/^\w+/gm, '\x1b]0;mine\x07'));
    const { error } = await install(release);
    expect(error).toContain('has no SHA-256');
    expect(error).not.toContain('\x1b');
    writeFileSync(sums, before);
    const command = 'umask 000; exec sh "$@"';
    const ended = await shell(['-c', command, '-', installer(release), '--to', release.target], release);
    expect(ended).toMatchObject({ code: 0, error: '' });
    for (const made of [release.target, join(release.target, '..')])
      expect(lstatSync(made).mode & 0o022).toBe(0);
  });

  test('names the directory without room, and what is not installed', async () => {
    const release = releaseFiles({ isSigned: false });
    const away = await install(release, [], { env: { TMPDIR: '/none' } });
    expect(away).toMatchObject({ code: 1, error: expect.stringMatching(/\/none\n→ Set TMPDIR/) });
    const full = pathWith(release.tmp, NEEDED.filter((one) => one !== 'tar').concat(SUM), {
      ...LINUX,
      tar: 'echo a part; exit 2',
    });
    const unpacked = await install(release, [], { env: { PATH: full } });
    expect(unpacked).toMatchObject({ code: 1, error: expect.stringContaining('--to DIR') });
    const without = pathWith(release.tmp, NEEDED.filter((one) => one !== 'gzip').concat(SUM), LINUX);
    const absent = await install(release, [], { env: { PATH: without } });
    expect(absent).toMatchObject({ code: 1, error: expect.stringContaining('Install gzip') });
  });

  test('refuses what was changed after it was signed, and keeps what is installed', async () => {
    const release = releaseFiles();
    await install(release);
    const archive = join(release.files, `devloop-1.2.3-${OWN}.tar.gz`);
    const sums = join(release.files, 'SHA256SUMS');
    const before = sha256(archive);
    writeFileSync(archive, 'something else');
    const changed = await install(release);
    expect(changed).toMatchObject({ code: 1, error: expect.stringContaining('SHA-256') });

    writeFileSync(sums, readFileSync(sums, 'utf8').replace(before, sha256(archive)));
    const forged = await install(release);
    expect(forged).toMatchObject({ code: 1, error: expect.stringContaining('signature') });

    const other = signingKey(join(release.home, 'other'));
    execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-f', other, '-n', 'devloop-release', sums]);
    expect(await install(release)).toMatchObject({ code: 1, error: expect.stringContaining('signature') });

    rmSync(`${sums}.sig`);
    expect(await install(release)).toMatchObject({
      code: 1,
      error: expect.stringContaining('SHA256SUMS.sig'),
    });
    expect(versionOf(release)).toBe('1.2.3');
  });

  test('says when it verifies no signature, and needs a program for the checksum', async () => {
    const unsigned = releaseFiles({ isSigned: false });
    expect((await install(unsigned)).out).toMatch(/signature +none/);
    const release = releaseFiles();
    const old = { ...LINUX, [VERIFY]: 'echo "ssh-keygen: unknown option -- Y" >&2; exit 1' };
    for (const PATH of [
      pathWith(release.tmp, [...NEEDED, SUM], LINUX),
      pathWith(release.tmp, [...NEEDED, SUM], old),
      pathWith(release.tmp, [...NEEDED, 'openssl'], LINUX),
    ]) {
      const ended = await install(release, [], { env: { PATH } });
      expect(ended).toMatchObject({
        code: 0,
        isInstalled: true,
        out: expect.stringMatching(/signature +not verified/),
      });
      rmSync(release.target, { recursive: true });
    }
    const none = { PATH: pathWith(release.tmp, NEEDED, LINUX) };
    const refused = await install(release, [], { env: none });
    expect(refused).toMatchObject({
      code: 1,
      error: expect.stringContaining('sha256sum'),
      isInstalled: false,
    });
  });

  const system = (os: string, arch: string): string => `case $1 in -s) echo ${os} ;; *) echo ${arch} ;; esac`;
  const MUSL = 'echo "musl libc (x86_64)" >&2; exit 1';
  test.each<[string, Record<string, string>, string]>([
    ['Alpine', { getconf: 'exit 1', ldd: MUSL }, 'musl'],
    ['CentOS 7', { getconf: 'case $1 in LONG_BIT) echo 64 ;; *) echo glibc 2.17 ;; esac' }, 'glibc 2.28'],
    ['a 32-bit system', { getconf: 'echo 32' }, '32-bit'],
    ['FreeBSD', { uname: system('FreeBSD', 'amd64') }, 'FreeBSD'],
    ['RISC-V', { uname: system('Linux', 'riscv64') }, 'riscv64'],
    ['Windows', { uname: system('MINGW64_NT-10.0', 'x86_64') }, 'WSL'],
  ])('refuses %s, with what to do', async (_, scripts, words) => {
    const release = releaseFiles({ isSigned: false });
    const PATH = pathWith(release.tmp, [...NEEDED, SUM], { ...LINUX, ...scripts });
    const refused = await install(release, [], { env: { PATH } });
    expect(refused).toMatchObject({ code: 1, isInstalled: false, error: expect.stringContaining(words) });
    expect(refused.error).toContain('\n→ ');
  });

  test.each([
    ['arm64', 'darwin-arm64', ''],
    ['x86_64', 'darwin-x64', ''],
    ['x86_64', 'darwin-arm64', 'echo 1'],
  ])('a Mac whose uname says %s gets %s', async (arch, platform, sysctl) => {
    const release = releaseFiles({ isSigned: false });
    const scripts = { uname: system('Darwin', arch), sysctl };
    const PATH = pathWith(release.tmp, [...NEEDED, SUM], scripts);
    expect(await install(release, [], { env: { PATH } })).toMatchObject({ code: 0 });
    expect(execFileSync(join(release.target, 'devloop'), { encoding: 'utf8' })).toContain(platform);
  });

  test('an executable that does not run here, or is another version, replaces nothing', async () => {
    const release = releaseFiles();
    await install(release);
    for (const program of ['#!/bin/sh\necho broken >&2; exit 1\n', standIn('9.9.9')]) {
      writeRelease(release.files, '1.4.0', program, {});
      expect(await install(release)).toMatchObject({
        code: 1,
        error: expect.stringMatching(/broken|9\.9\.9/),
      });
      expect(versionOf(release)).toBe('1.2.3');
    }
  });

  test('replaces no link of npm and no directory, and says if it cannot write', async () => {
    const release = releaseFiles({ isSigned: false });
    mkdirSync(release.target, { recursive: true });
    symlinkSync('../lib/node_modules/kube-devloop/bin/devloop.js', join(release.target, 'devloop'));
    const args = [installer(release), '--to', release.target];
    expect(await shell(args, release)).toMatchObject({ code: 1, error: expect.stringContaining('npm') });
    rmSync(join(release.target, 'devloop'));
    mkdirSync(join(release.target, 'kubectl-devloop'));
    expect(await shell(args, release)).toMatchObject({
      code: 1,
      error: expect.stringContaining('directory'),
    });
    // Before it gets any file.
    const below = [installer(release), '--to', join(installer(release), 'bin'), '--from', '/none'];
    expect(await shell(below, release)).toMatchObject({
      code: 1,
      error: expect.stringContaining('--to DIR'),
    });
  });

  test('says whether the target is on the PATH, and edits no profile', async () => {
    const release = releaseFiles({ isSigned: false });
    const there = await install(release, [], { env: { PATH: `${release.target}:${process.env.PATH}` } });
    expect(there.out).not.toContain('note');
    const elsewhere = await install(release, [], { env: { SHELL: '/usr/bin/fish' } });
    expect(elsewhere.out).toContain(`fish_add_path ${release.target}`);
    const bash = await install(release);
    expect(bash.out).toContain(`export PATH="${release.target}:$PATH"`);
    expect(bash.out).toMatch(/next .*devloop up --embedded.*devloop doctor/);
    const hidden = pathWith(release.tmp, [], { devloop: 'exit 1' });
    const shadowed = await install(release, [], {
      env: { PATH: `${hidden}:${process.env.PATH}:${release.target}` },
    });
    expect(shadowed.out).toContain(`${hidden}/devloop`);
    expect(readdirSync(release.home)).toEqual(['some where']);
  });

  test('a part of the script does nothing', async () => {
    const release = releaseFiles({ isSigned: false });
    const text = readFileSync(installer(release), 'utf8');
    const end = text.trimEnd().length;
    const isTried = (index: number): boolean => index % 7 === 0 && index < end;
    const lines = [...text.matchAll(/\n/g)].map(({ index }) => index).filter(isTried);
    for (const length of [...lines, ...Array.from({ length: 20 }, (_, index) => end - 1 - index)]) {
      const part = join(release.files, 'part.sh');
      writeFileSync(part, text.slice(0, length));
      const { out } = await shell([part, '--to', release.target], release);
      expect({ length, out, isThere: existsSync(release.target) }).toEqual({
        length,
        out: '',
        isThere: false,
      });
    }
  });

  test('prints its version and its options, and refuses others', async () => {
    const release = releaseFiles();
    expect(await shell([installer(release), '--version'], release)).toMatchObject({
      code: 0,
      out: '1.2.3\n',
    });
    expect((await shell([installer(release), '--help'], release)).out).toContain('--from DIR_OR_URL');
    for (const args of [['--form', 'x'], ['--to']])
      expect(await shell([installer(release), ...args], release)).toMatchObject({ code: 1 });
  });
});
