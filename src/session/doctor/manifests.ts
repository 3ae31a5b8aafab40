import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../cluster/api/workloads.ts';
import { runningPods } from '../../cluster/takeover/pause/pods.ts';
import { runGit, runGitWithoutFilters } from '../../machine/git.ts';
import { counted } from '../../phrases.ts';
import { type Check, type Finding, NotChecked, neededOperator } from './check.ts';

/** Have CRDs, roles or webhook configurations of this checkout changed since the manager in the cluster started? `up` applies none. */
export const manifestsCheck: Check = {
  name: 'manifests',
  limitSeconds: 30,
  optional: true,
  async run({ context, operator, root }, signal) {
    const { target } = await neededOperator(operator);
    const { manager } = target;
    if (manager === undefined) throw new NotChecked('the target has no manager in the cluster');
    const pod = oldest(await runningPods((await context).api, manager));
    return manifestsFinding(pod, pod && (await changedManifests(root, pod.started, signal)));
  },
};

interface Started {
  pod: string;
  started: Date;
}

function oldest(pods: Pod[]): Started | undefined {
  const started = pods.flatMap(({ metadata, status }) =>
    status?.startTime === undefined ? [] : [{ pod: metadata.name, started: new Date(status.startTime) }],
  );
  return started.sort((a, b) => a.started.getTime() - b.started.getTime())[0];
}

const FILES = ['--', '*.yaml', '*.yml'];
const EDITED = 'status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all'.split(' ');

/**
 * The files of the checkout with such objects that were committed or edited after this time, relative to the top of the repository;
 * undefined if git does not know the checkout. The modification times of unchanged files mean nothing, because git sets them at checkout.
 */
export async function changedManifests(
  root: string,
  since: Date,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const options = { cwd: root, signal };
  const [log, status, top] = await Promise.all([
    runGit(['log', `--since=${since.toISOString()}`, '--format=', '--name-only', '-z', ...FILES], options),
    runGitWithoutFilters([...EDITED, ...FILES], options),
    runGit(['rev-parse', '--show-toplevel'], options),
  ]);
  if (log.code !== 0 || status.code !== 0 || top.code !== 0) return undefined;
  const directory = top.stdout.trim();
  const edited = namesIn(status.stdout).map((line) => line.slice(3));
  const all = [...new Set([...namesIn(log.stdout), ...edited])].sort();
  const changed = await Promise.all(
    all.map(async (name) => {
      if (isTestData(name)) return false;
      const file = join(directory, name);
      const { mtime } = (await stat(file).catch(() => undefined)) ?? {};
      if (mtime === undefined || (edited.includes(name) && mtime <= since)) return false;
      return APPLIED.test(await readFile(file, 'utf8').catch(() => ''));
    }),
  );
  return all.filter((_, index) => changed[index]);
}

function namesIn(text: string): string[] {
  return text.split('\0').filter((name) => name !== '');
}

function isTestData(name: string): boolean {
  return name.split('/').some((part) => part === 'testdata' || part === 'vendor');
}

/** An object, or a patch of one, that decides what the API server sends to a manager, and what it allows it to do. */
const APPLIED =
  /^\s*kind:\s*["']?(?:CustomResourceDefinition|(?:Cluster)?Role(?:Binding)?|(?:Mutating|Validating)WebhookConfiguration)["']?\s*$/m;

/** How many files are named. */
const NAMED = 3;

export function manifestsFinding(running: Started | undefined, changed: string[] | undefined): Finding {
  if (running === undefined)
    return { verdict: 'unknown', answer: 'no Pod of the manager is running to compare this checkout with' };
  const since = `since Pod ${running.pod} started at ${running.started.toISOString()}`;
  if (changed === undefined)
    return { verdict: 'unknown', answer: `git does not say which manifests have changed ${since}` };
  if (changed.length === 0)
    return { verdict: 'ok', answer: `no CRD, role or webhook configuration here has changed ${since}` };
  const others = changed.length - NAMED;
  const more = others > 0 ? ` and ${counted(others, 'other file')}` : '';
  return {
    verdict: 'warn',
    answer: `${changed.slice(0, NAMED).join(', ')}${more} changed ${since}; the cluster may not have them yet`,
    proof: changed,
    hint: 'devloop runs your code, but applies no manifests. Apply them as this project does, for example with make install.',
  };
}
