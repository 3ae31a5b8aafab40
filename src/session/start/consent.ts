import { relative } from 'node:path';
import type { CheckoutFacts } from '../../checkout/facts.ts';
import { Checkout } from '../../checkout/files.ts';
import type { RecognisedCluster } from '../../cluster/api/recognise.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { checkoutFacts } from '../../languages.ts';
import { rank } from '../../operator/match.ts';
import type { Reconciler, Target } from '../../operator/target.ts';
import { shellWord } from '../../phrases.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { describe } from '../../report/object-name.ts';
import { agreedIn, remember } from '../context/agreed.ts';
import type { CommandContext } from '../context/context.ts';
import { targetsOf } from '../context/holders.ts';
import { unlessInterrupted } from '../context/interrupt.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import {
  agreementOf,
  asksForCluster,
  factsOf,
  flagsFor,
  isEmpty,
  type Pending,
  pendingOf,
  type Question,
  questionText,
  together,
} from '../context/question.ts';
import type { UpCommand } from './session.ts';

/** What the user has to agree to before `up` takes this target over. */
export async function questionFor(
  context: CommandContext,
  recognised: RecognisedCluster,
  { target, facts }: { target: Target; facts: CheckoutFacts },
): Promise<Question> {
  const { api, root, insteadOf, settingsFile } = context;
  const objects = targetsOf({ ...target, reconcilers: [] }).map(describe);
  const chosen =
    insteadOf === undefined
      ? []
      : [
          `context ${api.context} of ${settingsFile}, and not the current one, ${insteadOf || 'which is not set'}`,
        ];
  return {
    cluster: { ...recognised, context: api.context, server: api.server },
    taken: objects.length > 0 ? objects : [`the operator of ${root}`],
    chosen,
    circumstances: await elsewhere(context, target, facts),
    reconcilers: target.reconcilers ?? [],
  };
}

/** Says where the operator is if the directory in which devloop was started has none of its webhooks. */
async function elsewhere(
  { root, cwd }: Pick<CommandContext, 'root' | 'cwd'>,
  { services }: Target,
  { startedIn }: CheckoutFacts,
): Promise<string[]> {
  if (startedIn === undefined || services.length === 0) return [];
  const called = services.map(({ service: { metadata }, calls }) => ({
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    calls,
  }));
  const isHere = rank(called, await checkoutFacts(new Checkout(startedIn))).some(({ certain }) => certain);
  return isHere
    ? []
    : [`The operator's sources are elsewhere in ${root}: ${relative(root, cwd)} has none of its webhooks.`];
}

/** What the user would be asked, or refused without a terminal; undefined if nothing. `isNamed`: the command line agrees to the cluster. */
export function openQuestion(
  questions: [Question, ...Question[]],
  machine: LocalMachine,
  isNamed: boolean,
): { asked: Question; pending: Pending } | undefined {
  const asked = together(questions);
  const pending = pendingOf(asked, agreedIn(machine, asked.cluster.id), isNamed);
  return isEmpty(pending) ? undefined : { asked, pending };
}

/** Only `--yes` and a context on the command line agree: DEVLOOP_CONTEXT and devloop.yaml can be files of a repository. */
function isNamed({ options: { yes, given } }: Pick<UpCommand, 'options'>): boolean {
  return yes || given.context !== undefined;
}

/**
 * Asks the user about what is still open, all at once, remembers the answer, and says what else is paused unless that was said `before`.
 * Throws 'consent.missing' if the user does not agree, or cannot be asked, and 'interrupted' when the signal aborts.
 */
export async function agreeTo(
  questions: [Question, ...Question[]],
  command: UpCommand,
  before?: Question,
): Promise<void> {
  const { signal, emit } = command.io;
  await unlessInterrupted(requireConsent(questions, command), signal, NOTHING_TAKEN);
  const noted = new Set(before?.reconcilers.map(({ ref }) => describe(ref)));
  const [{ reconcilers }] = questions;
  for (const one of reconcilers) if (!noted.has(describe(one.ref))) emit(noteOf(one));
}

/** A dead session may have been restored by now. */
const NOTHING_TAKEN = 'Nothing was taken over.';

async function requireConsent(questions: [Question, ...Question[]], command: UpCommand): Promise<void> {
  const { machine, io, options } = command;
  // Nobody else uses it, and the next session has another one.
  if (options.embedded) return;
  const open = openQuestion(questions, machine, isNamed(command));
  if (open !== undefined) {
    const facts = factsOf(open.asked, open.pending);
    if (io.confirm === undefined) throw missing(open, 'devloop cannot ask you here.');
    if (!(await io.confirm(`${facts}\n${questionText(open.pending)}`)))
      throw missing(open, 'You did not agree.');
  }
  const all = together(questions);
  const { id, context, server } = all.cluster;
  const at = new Date().toISOString();
  await remember(machine, { id, context, server, at, what: agreementOf(all) });
}

function missing({ asked, pending }: { asked: Question; pending: Pending }, why: string): DevloopError {
  const { reconcilers } = pending;
  const byName = asksForCluster(pending) && reconcilers.length === 0;
  const hint = [
    `If that is right: ${AGAIN} ${flagsFor(asked, pending)}`,
    ...(byName ? [`Or, by its name: ${AGAIN} --context ${shellWord(asked.cluster.context)}`] : []),
    ...(reconcilers.length > 0 ? [`To leave it running: ${AGAIN} ${flagsFor(asked, pending, false)}`] : []),
  ];
  return new DevloopError('consent.missing', `${factsOf(asked, pending)}\n${why} ${NOTHING_TAKEN}`, {
    hint: hint.join('\n'),
  });
}

/** What the dry run says about the question, and about what else is paused. */
export function plannedConsent(command: UpCommand, question: Question): DevloopEvent[] {
  const open = openQuestion([question], command.machine, isNamed(command));
  const notes = question.reconcilers
    .filter((one) => !open?.pending.reconcilers.includes(one))
    .map((one) => noteOf(one));
  if (open === undefined) return notes;
  const values = { facts: factsOf(question, open.pending), flags: flagsFor(question, open.pending) };
  return [...notes, notice('consent.would-ask', values)];
}

/** Says what else is paused, and why. */
function noteOf({ ref, evidence, namedIn }: Reconciler): DevloopEvent {
  return notice('pause.also', { ref, ...(evidence && { evidence }), ...(namedIn && { namedIn }) });
}
