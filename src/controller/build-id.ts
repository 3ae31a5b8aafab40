import { createHash } from 'node:crypto';
import { sleep } from '../async.ts';
import { runGitWithoutFilters } from '../machine/git.ts';

/** What a build's id is made from: the program's content if that is known, when the build began, and whether git sees changes. */
export interface BuildFacts {
  content: string | undefined;
  /** When the build began, in ms since 1970: what was saved later might not be in the program. */
  at: number;
  /** Whether git sees changes: `unknown` if git took too long, undefined if git cannot tell. */
  isDirty: boolean | 'unknown' | undefined;
}

const HASH_DIGITS = 7;

/**
 * `3f2a91c 10:14:58 +dirty`: equal hashes mean equal programs, whatever they were built from. The hash is missing if the content is not
 * known.
 */
export function buildId({ content, at, isDirty }: BuildFacts): string {
  const hash =
    content === undefined ? '' : createHash('sha256').update(content).digest('hex').slice(0, HASH_DIGITS);
  const time = new Date(at).toTimeString().slice(0, 'hh:mm:ss'.length);
  const dirty = isDirty === 'unknown' ? '+dirty?' : isDirty ? '+dirty' : '';
  return [hash, time, dirty].filter(Boolean).join(' ');
}

/** How long git may still run once a build is done: a person is waiting for the program. */
const AFTER_BUILD_MS = 200;
/**
 * How long git may still run after a session's first build. If nothing has changed, that build takes no time at all, and devloop is still
 * opening the route anyway.
 */
const AFTER_FIRST_MS = 1_000;

/** Asks git while build number `build` runs. `answer` waits for git only for a moment. */
export function askGit(
  { cwd, build }: { cwd: string; build: number },
  signal: AbortSignal,
): { answer(): Promise<BuildFacts['isDirty']> } {
  const asked = isDirty(cwd, signal).catch(() => undefined);
  const waitMs = build === 0 ? AFTER_FIRST_MS : AFTER_BUILD_MS;
  return {
    answer: () => Promise.race([asked, sleep(waitMs, signal).then(() => 'unknown' as const)]),
  };
}

/**
 * Whether the checkout has changes that are not committed, new files included. git does not look into submodules: their configuration can
 * name commands that git would run.
 */
async function isDirty(cwd: string, signal: AbortSignal): Promise<boolean | undefined> {
  const command = ['status', '--porcelain', '--untracked-files=normal', '--ignore-submodules=dirty'];
  const { code, stdout } = await runGitWithoutFilters(command, { cwd, signal });
  return code === 0 ? stdout !== '' : undefined;
}
