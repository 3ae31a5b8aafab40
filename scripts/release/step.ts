import type { NodePackage } from './third-party.ts';

/** The platforms of the executables. */
export const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** The platform of this machine, which need not be one of them. */
export const HERE = `${process.platform}-${process.arch}`;

/** The archive with the executable; release/install.sh knows it, too. */
export function archiveName(version: string, platform: Platform): string {
  return `devloop-${version}-${platform}.tar.gz`;
}

/** What each step of a release gets. */
export interface Release {
  /** The checkout. dist/ in it is built. */
  root: string;
  version: string;
  /** dist/release, which is empty at first. */
  out: string;
  /** A directory for what the steps make for each other. It is deleted at the end. */
  work: string;
  nodes: Record<Platform, NodePackage>;
  /** Prints a line. */
  say(text: string): void;
}

export interface Step {
  /** What it makes, such as `npm package`. */
  name: string;
  run(release: Release): Promise<void> | void;
}
