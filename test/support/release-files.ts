import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tarGz } from '../../scripts/release/archive.ts';
import { writeFiles } from '../../scripts/release/files.ts';
import { archiveName, PLATFORMS } from '../../scripts/release/step.ts';

export interface ReleaseFiles {
  /** What `npm run release` would write, but with small programs. */
  files: string;
  /** A directory that does not exist yet. */
  target: string;
  home: string;
  /** For files that a script makes while it works. */
  tmp: string;
}

/** A directory for the test, with a release in it whose executables are scripts. */
export function releaseFiles({
  version = '1.2.3',
  isSigned = true,
  url = '',
  program = standIn(version),
} = {}): ReleaseFiles {
  const directory = mkdtempSync(join(tmpdir(), 'release-files-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const made = {
    files: join(directory, 'files'),
    home: join(directory, 'home'),
    tmp: join(directory, 'tmp'),
  };
  for (const one of Object.values(made)) mkdirSync(one);
  const target = join(made.home, 'some where/bin');
  const key: Record<string, string> = isSigned
    ? { DEVLOOP_RELEASE_KEY: signingKey(join(directory, 'key')) }
    : {};
  writeRelease(made.files, version, program, { ...key, DEVLOOP_RELEASE_URL: url });
  return { ...made, target };
}

/** Prints the version, and on which platform it was meant to run. */
export function standIn(version: string): string {
  return `#!/bin/sh\n[ "$1" = --version ] && echo ${version} && exit\necho "$0: PLATFORM"\n`;
}

export function writeRelease(
  files: string,
  version: string,
  program: string,
  env: Record<string, string>,
): void {
  for (const platform of PLATFORMS) {
    const archive = tarGz([
      { name: 'devloop', mode: 0o755, content: Buffer.from(program.replace('PLATFORM', platform)) },
      { name: 'LICENSE', mode: 0o644, content: Buffer.from('a licence\n') },
    ]);
    writeFileSync(join(files, archiveName(version, platform)), archive);
  }
  writeFiles({ out: files, version, say: () => {} }, env);
}

export function signingKey(file: string): string {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'for a test', '-f', file]);
  return file;
}

export interface Ended {
  code: number;
  out: string;
  error: string;
}

/** Runs a shell with nothing of this process's environment but what is given. */
export function shell(
  args: string[],
  { home, tmp }: Pick<ReleaseFiles, 'home' | 'tmp'>,
  { env = {}, input = '', name = 'sh' }: { env?: Record<string, string>; input?: string; name?: string } = {},
): Promise<Ended> {
  const all = { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: tmp, ...env };
  return new Promise((resolve) => {
    const child = execFile(name, args, { env: all, cwd: tmp }, (error, out, message) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, error: message }),
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** The address of a server for the files, until the test ends. */
export async function serve(files: string): Promise<string> {
  const server = createServer((request, response) => {
    const file = join(files, basename(request.url ?? ''));
    if (existsSync(file)) response.end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A PATH on which only these programs of this machine are, and these scripts. */
export function pathWith(
  directory: string,
  programs: string[],
  scripts: Record<string, string> = {},
): string {
  const bin = mkdtempSync(join(directory, 'bin-'));
  for (const name of programs) {
    const directories = (process.env.PATH ?? '').split(':');
    const found = directories.map((one) => join(one, name)).find((file) => existsSync(file));
    if (found === undefined) throw new Error(`${name} is not on the PATH`);
    symlinkSync(found, join(bin, name));
  }
  for (const [name, script] of Object.entries(scripts))
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return bin;
}
