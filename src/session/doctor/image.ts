import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../cluster/api/workloads.ts';
import { runningPods } from '../../cluster/takeover/pause/pods.ts';
import { runGit, runGitWithoutFilters } from '../../machine/git.ts';
import { type Check, type Finding, NotChecked, neededOperator } from './check.ts';

/** Is the image in the cluster older than this checkout? */
export const imageCheck: Check = {
  name: 'image',
  limitSeconds: 30,
  optional: true,
  async run({ context, operator, root }, signal) {
    const { target } = await neededOperator(operator);
    const { manager } = target;
    if (manager === undefined) throw new NotChecked('the target has no manager in the cluster');
    const pods = await runningPods((await context).api, manager);
    return imageFinding(runningImage(pods, manager.container.name), await newestSource(root, signal));
  },
};

interface Running {
  image: string;
  pod: string;
  /** When the oldest Pod started; its image is older than that. */
  started: Date;
}

function runningImage(pods: Pod[], container: string): Running | undefined {
  const started = pods.flatMap(({ metadata, status }) => {
    const image = status?.containerStatuses?.find(({ name }) => name === container)?.image;
    if (image === undefined || status?.startTime === undefined) return [];
    return [{ image, pod: metadata.name, started: new Date(status.startTime) }];
  });
  return started.sort((a, b) => a.started.getTime() - b.started.getTime())[0];
}

export interface NewestSource {
  at: Date;
  /** What changed: `commit 1a2b3c4`, or the name of an uncommitted file. */
  what: string;
  /** The commit that is checked out; empty without git. */
  head: string;
}

const CHANGED = 'status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all'.split(' ');

/**
 * The last commit of Go sources, or a later edit. The modification times of unchanged files mean nothing, because git sets them at
 * checkout.
 */
export async function newestSource(root: string, signal: AbortSignal): Promise<NewestSource | undefined> {
  const sources = ['--', '*.go', 'go.mod', 'go.sum'];
  const options = { cwd: root, signal };
  const [log, status] = await Promise.all([
    runGit(['log', '-1', '--format=%H %cI', ...sources], options),
    runGitWithoutFilters([...CHANGED, ...sources], options),
  ]);
  const head = (await runGit(['rev-parse', 'HEAD'], options)).stdout.trim();
  if (log.code !== 0 || status.code !== 0) return undefined;
  const [commit = '', time = ''] = log.stdout.trim().split(' ');
  const committed = time === '' ? [] : [{ at: new Date(time), what: `commit ${commit.slice(0, 9)}`, head }];
  const top = (await runGit(['rev-parse', '--show-toplevel'], options)).stdout.trim();
  const changed = status.stdout
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => line.slice(3));
  const edited = await Promise.all(
    changed.map(async (what) => {
      const times = await stat(join(top, what)).catch(() => undefined);
      return times ? [{ at: times.mtime, what, head }] : [];
    }),
  );
  return [...committed, ...edited.flat()].sort((a, b) => b.at.getTime() - a.at.getTime())[0];
}

/** Reports only what is certain: an image is older than the start of its Pod, so a later edit is not in it. */
export function imageFinding(running: Running | undefined, source: NewestSource | undefined): Finding {
  if (running === undefined)
    return {
      verdict: 'unknown',
      answer: 'no Pod of the manager is running, so there is no image to compare',
    };
  const { image, pod, started } = running;
  const runs = `Pod ${pod} has been running ${image} since ${started.toISOString()}`;
  if (source === undefined)
    return {
      verdict: 'unknown',
      answer: 'git does not say how old this checkout is, so it cannot be compared',
      proof: [runs],
    };
  const proof = [runs, `the newest Go source is ${source.what}, from ${source.at.toISOString()}`];
  if (source.at > started) {
    return {
      verdict: 'warn',
      answer: 'the image in the cluster is older than this checkout; its CRDs and RBAC may be, too',
      proof,
      hint: 'devloop runs your code, but applies no manifests. If the CRDs have changed: make install',
    };
  }
  if (source.head !== '' && tagIsCommit(image, source.head))
    return { verdict: 'ok', answer: "the image's tag names the commit that is checked out", proof };
  return {
    verdict: 'unknown',
    answer: 'nothing has been edited since the Pod started, but it is not known when its image was built',
    proof,
  };
}

function tagIsCommit(image: string, head: string): boolean {
  const tag = /:([\w.-]+)(?:@|$)/.exec(image)?.[1] ?? '';
  return (tag.match(/[0-9a-f]{7,40}/g) ?? []).some((word) => head.startsWith(word));
}
