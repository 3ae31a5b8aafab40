import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { runGit, runGitWithoutFilters } from '../../machine/git.ts';
import type { ToolResult } from '../../machine/tool.ts';

/** A commit of the checkout's repository. */
export interface Revision {
  /** As the user named it. */
  name: string;
  commit: string;
  /** `main (3f2a91c)`; only the name, if that is the commit. */
  shown: string;
  repository: string;
}

interface Place {
  root: string;
  cwd: string;
}

const SHORT = 7;
/** With these, git would write beside the index, or leave out files of the revision. */
const WHOLE = ['-c', 'core.splitIndex=false', '-c', 'core.sparseCheckout=false', '-c', 'index.sparse=false'];

/** Throws 'usage.invalid' if the repository of `root` has no such commit. */
export async function findRevision(name: string, root: string, signal: AbortSignal): Promise<Revision> {
  const top = await runGit(['rev-parse', '--show-toplevel'], { cwd: root, signal });
  if (top.missing) throw invalid('--against needs git, which was not found.');
  if (top.code !== 0) throw invalid(`${root} is not in a git repository: ${lastLine(top)}`);
  // git takes what begins with a hyphen for a flag of its own.
  const asked = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`];
  const found = name.startsWith('-') ? undefined : await runGit(asked, { cwd: root, signal });
  const commit = found?.stdout.trim() ?? '';
  if (found?.code !== 0 || commit === '')
    throw invalid(`The repository ${top.stdout.trim()} has no revision ${name}.`, 'git log --oneline -10');
  const short = commit.slice(0, SHORT);
  const shown = commit.startsWith(name) ? short : `${name} (${short})`;
  return { name, commit, shown, repository: top.stdout.trim() };
}

/**
 * Writes the files of a revision below a directory, with an index of its own, so that nothing in the repository changes, nor is anything left
 * there if devloop is killed. Filters, such as git-lfs, do not run.
 */
export async function exportRevision(
  { commit, shown, repository }: Revision,
  { root, cwd }: Place,
  directory: string,
  signal: AbortSignal,
): Promise<Place> {
  const options = {
    cwd: repository,
    signal,
    env: { ...process.env, GIT_INDEX_FILE: join(directory, 'index') },
  };
  const tree = join(directory, 'against');
  for (const args of [
    ['read-tree', commit],
    ['checkout-index', '--all', '--quiet', `--prefix=${tree}/`],
  ]) {
    const ran = await runGitWithoutFilters([...WHOLE, ...args], options);
    if (ran.code !== 0) throw invalid(`git could not write the files of ${shown}: ${lastLine(ran)}`);
  }
  const below = relative(repository, await realpath(root));
  const there = join(tree, below);
  if (!existsSync(there)) throw invalid(`Revision ${shown} has no directory ${below || '.'}.`);
  const from = join(there, relative(root, cwd));
  return { root: there, cwd: existsSync(from) ? from : there };
}

/** An error about the files of a revision, without the place where they are for a moment. */
export function ofRevision(error: unknown, { shown }: Revision, { root }: Place): unknown {
  if (!(error instanceof DevloopError) || error.code === 'interrupted') return error;
  const without = (text: string): string => text.replaceAll(root, '.');
  const { code, message, hint } = error;
  return new DevloopError(code, `Revision ${shown}: ${without(message)}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint: without(hint) }),
  });
}

function lastLine({ stderr }: ToolResult): string {
  return stderr.trim().split('\n').at(-1) ?? '';
}

function invalid(message: string, hint?: string): DevloopError {
  return new DevloopError('usage.invalid', message, hint === undefined ? {} : { hint });
}
