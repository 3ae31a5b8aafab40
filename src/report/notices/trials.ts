import { commandText, counted, withNames } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What the user tries with the controller: plans, faults, and crash tests. */
export const TRIALS = {
  /** `test`: the command did not end in time after Ctrl-C, or after the end of the session. */
  'test.killed': warning<{ command: string[]; seconds: number }>(
    ({ command, seconds }) =>
      `\`${commandText(command)}\` was still running ${seconds} s after devloop had interrupted it, so devloop killed it.`,
  ),
  /** `test`: the command has ended, and processes that it had started still ran. */
  'test.left': warning<{ command: string[] }>(
    ({ command }) => `\`${commandText(command)}\` ended and left processes running. devloop killed them.`,
  ),
  /** The controller had something new to ask all the time, so the plan may be incomplete. */
  'plan.not-quiet': warning<{ seconds: number }>(
    ({ seconds }) =>
      `After ${seconds} s, the controller still asked for something new, so this plan may be incomplete.`,
    () => 'Give it more time: --limit-seconds 600',
  ),
  /** The newest reconcile of an object failed, and not because of a write that the plan shows. `others`: of how many others it failed, too. */
  'plan.reconcile-failed': warning<{ object: ObjectName; error: string; others: number }>(
    ({ object, error, others }) =>
      `The controller fails to reconcile ${describe(object)}${others === 0 ? '' : ` and ${counted(others, 'other object')}`}, so the plan lacks what it would write there: ${error}`,
  ),
  /** Nobody could be asked which API groups other servers answer for, so writes to groups that are not Kubernetes' own are not sent. */
  'plan.groups-unknown': warning<{ cause: string }>(
    ({ cause }) =>
      `devloop cannot see which API groups are served by other servers, which may not know what a dry run is (${cause}). Writes to groups that are not Kubernetes' own are not sent.`,
  ),
  /** A session of the same checkout runs, and its controller has already written what the saved code writes. */
  'plan.session-runs': warning<{ session: string }>(
    ({ session }) =>
      `Session ${session} runs the saved code of this checkout: what its controller has written already is no change here, and its code answers the webhooks.`,
    () => 'What the code does that the last commit does not: devloop plan --against HEAD',
  ),
  /** The revision with which the checkout is compared is built and run next. */
  'plan.revision': note<{ revision: string }>(
    ({ revision }) => `Planning revision ${revision}, to compare it with the checkout.`,
  ),
  /** What a plan can neither keep the controller from nor show. `isIsolated`: the controller has no network but the API server. */
  'plan.limits': note<{ isIsolated: boolean }>(({ isIsolated }) =>
    [
      'The controller runs here with every write to the API server as a dry run. The in-cluster manager answers the webhooks.',
      isIsolated
        ? 'Over the network, the controller reaches nothing but the API server.'
        : 'It has the network of this machine: what it does elsewhere, such as in a cloud or a database, does happen, and is not shown.',
    ].join(' '),
  ),
  /** A fault names neither a verb nor a resource. */
  'faults.everything': warning<{ rule: string }>(
    ({ rule }) =>
      `The fault "${rule}" is about all calls, also those with which the controller learns what the API server has and becomes the leader, so it may not get far.`,
    () => 'Name a verb or a resource: 409 update, or 503 list deployments.',
  ),
  /** A fault has killed the controller. */
  'faults.crashed': note<{ rule: string }>(
    ({ rule }) => `The controller is killed by the fault "${rule}", and starts again.`,
  ),
  /** `crashtest`: the reset leaves these objects, which the controller has created, so each run begins with them. */
  'crashtest.left': warning<{ objects: string[] }>(
    ({ objects }) =>
      `The reset leaves what the controller has created, so each run begins with it: ${withNames(counted(objects.length, 'object'), objects)}`,
    () => 'Remove it in --reset, too, if a run is to begin without it.',
  ),
  /** `crashtest`: what the controller has created in a run with a crash is still there after the reset. */
  'crashtest.leaked': warning<{ objects: string[] }>(
    ({ objects }) =>
      `Neither the controller nor the reset has removed what the controller created in the run with the crash: ${withNames(counted(objects.length, 'object'), objects)}`,
  ),
  /** `crashtest`: a run made more calls than a session records. */
  'crashtest.cut': warning<Record<string, never>>(
    () =>
      'The controller made more calls in this run than devloop keeps, so the crash test does not know the first ones.',
    () => 'Give a command that makes it do less.',
  ),
  /** `crashtest` has ended in the middle, so what its command did in the cluster may still be there. */
  'crashtest.not-reset': warning<{ reset: string }>(
    () => 'The crash test has ended before its last reset, so what its command did may still be there.',
    ({ reset }) => reset,
  ),
  /** `crashtest`: before a run, the controller is not at rest. */
  'crashtest.restless': warning<{ why: string }>(
    ({ why }) => `The controller is not at rest before the run, so its result may depend on that. ${why}`,
  ),
};
