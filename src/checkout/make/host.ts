import { arch, platform } from 'node:process';

/** The names of this machine's system and architecture in Makefiles and Dockerfiles, which are Go's; Node's differ for a few. */
export const OS = platform === 'win32' ? 'windows' : platform;
export const ARCH = { x64: 'amd64', ia32: '386' }[arch as string] ?? arch;
