import { note, warning } from './notice.ts';

/** The controller and its builds. */
export const CONTROLLER = {
  /** The first build failed, so nothing is taken over until a build succeeds. `next`: what to do about the error. */
  'build.awaits-fix': warning<{ next?: string }>(
    () =>
      'Nothing is taken over yet: devloop builds again when you save a file. Until then, its Leases stay in the cluster, and so do the objects of the route and the stand-in Pod, if there are any. Ctrl-C removes them.',
    ({ next }) => next,
  ),
  /** The new build is the program that runs already. */
  'build.identical': note(
    () => 'the new build is identical, so the controller was not restarted (devloop restart does it)',
  ),
  /**
   * What devloop adds to the program, to find out which reconcile makes each API call, does not compile with it, so the program is built
   * without it until go.mod changes. `complaint`: the compiler's.
   */
  'build.calls-untagged': note<{ complaint: string }>(
    ({ complaint }) =>
      `devloop cannot tell which reconcile makes each API call, because what it adds to the program for that does not compile: ${complaint}`,
  ),
  /** The sources cannot be watched, or not all of them. `next`: what to do. */
  'watch.failed': warning<{ cause: string; next?: string }>(
    ({ cause }) => `cannot watch the sources: ${cause}`,
    ({ next }) => next,
  ),
  /** The controller itself seems to change files that are watched, so that each start causes the next one. devloop waits before it builds. */
  'watch.own-changes': warning<{ files: string[]; starts: number; seconds: number }>(
    ({ files, starts, seconds }) =>
      `The controller itself seems to change ${files.join(', ')}: this happened at the same moment after each of the last ${starts} starts. devloop restarts it in ${seconds} s.`,
    () => 'Add the file to .gitignore, or name what to watch in devloop.yaml: controller: {watch: […]}',
  ),
  /** The controller has ended, did not start, or is not ready. `error`: the code of its error, if it has one. `next`: what to do about it. */
  'controller.failed': warning<Failed>(
    ({ cause }) => cause,
    (failed) => [failed.next, thenText(failed)].filter(Boolean).join(' ') || undefined,
  ),
  /** The controller exited with code 0, as it does when it asks for a restart, so devloop restarts it at once. */
  'controller.exited': note(() => 'the controller exited with code 0, so devloop restarts it at once'),
  /** The old controller has not exited yet, and still answers reviews. */
  'controller.still-answering': note(
    () => 'the old controller has not exited yet and still answers; the new one starts when it has exited',
  ),
  /** The old controller does not exit, and a review is waiting for the new one, so devloop sends it SIGKILL. */
  'controller.killed': note(
    () =>
      'the old controller no longer answers but has not exited, and a review is waiting for the new one, so devloop ends it with SIGKILL',
  ),
  /** The controller has taken long to end at several restarts, and a setting would end it sooner. */
  'controller.slow-to-end': note<{ seconds: number }>(
    ({ seconds }) =>
      `After SIGTERM, the controller took ${seconds} s to end, for the second time, and each restart waits for that. To end it sooner, add to devloop.yaml: controller: {graceSeconds: 1}`,
  ),
  /** The controller logs the same error again and again. `logged`: the error. */
  'controller.repeats-error': warning<{ times: number; logged: string }>(
    ({ times, logged }) =>
      `The controller has logged the same error ${times} times since it started, so it may answer reviews and do nothing else: ${logged}`,
    // A role is not in the program: the next attempt succeeds as soon as the cluster has it.
    ({ logged }) =>
      /\bis forbidden\b/.test(logged)
        ? undefined
        : "Fix the cause, then save one of the controller's files (or press r) to restart it.",
  ),
  /** A process that devloop cannot end with the controller serves its webhook port. */
  'controller.port-of-another': warning<{ port: number; owner: string }>(
    ({ port, owner }) =>
      `Port ${port} is served by ${owner}, which is not in the process group of the controller, so devloop cannot end it before the next build starts.`,
    () => 'Let the command serve the port itself, in the foreground.',
  ),
  /** The program does not know a flag that devloop has added, so devloop leaves it out. */
  'controller.flag-left-out': note<{ argument: string }>(
    ({ argument }) => `${argument}\nis left out: the command does not know this flag.`,
  ),
};

export type Then = 'runs-last-build' | 'restarts' | 'waits-for-change';

interface Failed {
  error?: string;
  cause: string;
  next?: string;
  /** What devloop does: it runs the last build that worked, restarts the controller after `seconds`, or at the next change. Absent if the session is ending, or if the controller may still become ready. */
  then?: Then;
  seconds?: number;
}

function thenText({ then, seconds }: Failed): string | undefined {
  switch (then) {
    case 'runs-last-build':
      return 'The last build that worked runs again.';
    case 'restarts':
      return `devloop restarts it in ${seconds} s, or at the next change.`;
    case 'waits-for-change':
      return 'devloop restarts it at the next change.';
    case undefined:
      return undefined;
    default:
      return then satisfies never;
  }
}
