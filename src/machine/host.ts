import { join } from 'node:path';
import { arch, platform } from 'node:process';
import { homeDirectory } from './account.ts';

/** The names of this machine's system and architecture in Makefiles, Dockerfiles and directories of setup-envtest, which are Go's; Node's differ for a few. */
export const OS = platform === 'win32' ? 'windows' : platform;
export const ARCH = { x64: 'amd64', ia32: '386' }[arch as string] ?? arch;

/** What `uname -s` prints; undefined for a system on which devloop does not run. */
export const UNAME: string | undefined = { linux: 'Linux', darwin: 'Darwin' }[platform as string];
/** What `uname -m` prints. */
export const UNAME_MACHINE: string =
  platform === 'linux' && ARCH === 'arm64' ? 'aarch64' : ({ amd64: 'x86_64' }[ARCH] ?? ARCH);

/** Where a program keeps the user's data, by the name that it uses on each system. */
export function dataDirectory(
  env: Record<string, string | undefined>,
  { linux, macos }: { linux: string; macos: string },
): string {
  const home = homeDirectory(env);
  return platform === 'darwin'
    ? join(home, 'Library', 'Application Support', macos)
    : join(env.XDG_DATA_HOME || join(home, '.local', 'share'), linux);
}
