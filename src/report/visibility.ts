import type { DevloopEvent } from './events.ts';

export type Verbosity = 'quiet' | 'normal' | 'verbose';

/** The least verbosity that shows an event. */
const SHOWN_FROM: Record<DevloopEvent['type'], Verbosity> = {
  discovered: 'normal',
  setting: 'quiet',
  warning: 'quiet',
  note: 'normal',
  waiting: 'normal',
  change: 'normal',
  'route.planned': 'quiet',
  'controller.planned': 'quiet',
  'route.verified': 'normal',
  'route.lost': 'quiet',
  'route.reconnected': 'quiet',
  'certificate.written': 'normal',
  'build.started': 'normal',
  'build.done': 'normal',
  'build.failed': 'quiet',
  'build.reverted': 'quiet',
  'controller.kubeconfig': 'normal',
  'controller.identity': 'normal',
  'controller.started': 'verbose',
  'controller.ready': 'normal',
  'controller.restarting': 'normal',
  // A warning reports each of these two, too.
  'controller.silent': 'verbose',
  'controller.down': 'verbose',
  'controller.exited': 'normal',
  'controller.replaced': 'normal',
  'leader.waiting': 'normal',
  'leader.elected': 'normal',
  'leader.released': 'verbose',
  'controller.output': 'normal',
  'output.line': 'quiet',
  environment: 'quiet',
  'debug.listening': 'normal',
  'debug.attached': 'normal',
  'debug.left': 'normal',
  'debug.stopped': 'quiet',
  'debug.stepped': 'verbose',
  'debug.running': 'normal',
  'session.started': 'normal',
  'session.ready': 'quiet',
  'manager.gone': 'normal',
  'session.serving': 'quiet',
  'session.stopping': 'normal',
  'session.restored': 'quiet',
  'guard.overwritten': 'quiet',
  'guard.deleted': 'quiet',
  'guard.followed': 'normal',
  manifest: 'normal',
  review: 'normal',
  'review.late': 'normal',
  call: 'normal',
  reconcile: 'normal',
  'calls.listed': 'quiet',
  'reconciles.listed': 'quiet',
  'timeline.changed': 'quiet',
  'timeline.logged': 'quiet',
  'rbac.compared': 'quiet',
  'rbac.missing': 'quiet',
  'rbac.unseen': 'quiet',
  'rbac.broad': 'quiet',
  'reviews.held': 'quiet',
  'faults.listed': 'quiet',
  'test.started': 'normal',
  'test.done': 'quiet',
  'crashtest.undisturbed': 'normal',
  'crashtest.round': 'normal',
  'crashtest.done': 'quiet',
  'plan.write': 'quiet',
  'plan.done': 'quiet',
  'plan.difference': 'quiet',
  'plan.compared': 'quiet',
  'reviews.released': 'quiet',
  'files.ignored': 'normal',
  'files.followed': 'normal',
  'page.served': 'quiet',
  'reviews.listed': 'quiet',
  'reviews.waiting': 'quiet',
  'reviews.set': 'quiet',
  'reviews.shown': 'quiet',
  'reviews.replayed': 'normal',
  'reviews.compared': 'quiet',
  status: 'quiet',
  finding: 'quiet',
  error: 'quiet',
};

const ORDER: Verbosity[] = ['quiet', 'normal', 'verbose'];

export function isShown(event: DevloopEvent, verbosity: Verbosity): boolean {
  return ORDER.indexOf(shownFrom(event)) <= ORDER.indexOf(verbosity);
}

function shownFrom(event: DevloopEvent): Verbosity {
  if (isOnlyStep(event)) return 'verbose';
  if (isWrongAnswer(event)) return 'quiet';
  if (event.type === 'crashtest.round' && event.round.result !== 'same') return 'quiet';
  if (event.type === 'reviews.replayed') return SHOWN_FROM[event.type];
  // The line that was printed at the signal has already reported this.
  if (event.type === 'session.stopping' && /^(?:SIG|q$)/.test(event.reason)) return 'verbose';
  if (event.type === 'finding') return needsAction(event) ? 'quiet' : 'normal';
  if (event.type === 'error' && event.summary) return 'normal';
  if (event.type === 'change' && event.temporary && !event.dryRun) return 'verbose';
  return isAnswer(event) ? 'quiet' : SHOWN_FROM[event.type];
}

/** Whether an event matters only to somebody who wants to see every step: what devloop caused, or what nobody had to wait for. */
function isOnlyStep(event: DevloopEvent): boolean {
  if (event.type === 'manager.gone') return event.oldPods === undefined;
  // The line before it says the same: it is a result, and no failure.
  if (event.type === 'error') return event.code === 'plan.changes';
  // A reconcile that wrote nothing and failed at nothing is one of many.
  if (event.type === 'reconcile')
    return event.calls.length === 0 && event.result !== 'error' && event.result !== 'panic';
  return event.type === 'controller.exited' && event.expected;
}

/** A review without a verdict from the controller, or a replayed one whose answer has changed. */
function isWrongAnswer(event: DevloopEvent): boolean {
  if (event.type === 'reviews.replayed') return event.result === 'changed';
  return event.type === 'review' && ['failed', 'answered-by-devloop', 'unanswered'].includes(event.verdict);
}

/** Whether the check failed, or there is a next step. */
function needsAction({ verdict, hint }: Extract<DevloopEvent, { type: 'finding' }>): boolean {
  return verdict === 'fail' || (verdict !== 'ok' && verdict !== 'info' && hint !== undefined);
}

export type Answer = Exclude<DevloopEvent, { type: 'waiting' | 'review' }>;

/** What the user asked for, as opposed to progress. */
export function isAnswer(event: DevloopEvent): event is Answer {
  if (event.type === 'change') return event.dryRun === true;
  if (event.type === 'reviews.replayed' || event.type === 'reviews.compared') return event.asked === true;
  return ANSWERS.has(event.type);
}

const ANSWERS = new Set<DevloopEvent['type']>([
  'environment',
  'output.line',
  'reviews.listed',
  'calls.listed',
  'reconciles.listed',
  'timeline.changed',
  'timeline.logged',
  'rbac.compared',
  'rbac.missing',
  'rbac.unseen',
  'rbac.broad',
  'reviews.waiting',
  'reviews.set',
  'reviews.shown',
  'status',
  'setting',
  'finding',
  'route.planned',
  'controller.planned',
  'plan.write',
  'plan.done',
  'plan.difference',
  'plan.compared',
]);
