import { describe } from '../../cluster/api/kinds.ts';
import type { Reconciler } from '../../operator/target.ts';
import { shellWord } from '../../phrases.ts';

/** What `up` needs the user's agreement for. */
export interface Question {
  cluster: { id: string; context: string; server: string };
  /** The tool that runs the cluster on a developer's machine, if Nodes say so: such a cluster needs no agreement. */
  tool?: string | undefined;
  /** What `up` takes over in this cluster, in the words in which an agreement is remembered. */
  taken: string[];
  /** What the user may not expect about the choice of the cluster or the operator. */
  circumstances: string[];
  reconcilers: Reconciler[];
}

/** What the user has not agreed to yet. */
export interface Pending {
  taken: string[];
  circumstances: string[];
  reconcilers: Reconciler[];
}

/** `agreed`: what is remembered. `ofCluster`: whether the user has just agreed to the cluster, with a flag. */
export function pendingOf(
  { tool, ...question }: Question,
  agreed: ReadonlySet<string>,
  ofCluster: boolean,
): Pending {
  const isKnown = ofCluster || tool !== undefined;
  const taken = isKnown ? [] : question.taken.filter((one) => !agreed.has(one));
  return {
    taken,
    circumstances: taken.length > 0 ? question.circumstances : [],
    reconcilers: question.reconcilers.filter((one) => !one.isNamed && !agreed.has(pauses(one))),
  };
}

/** What is remembered once the user has agreed. In a cluster of a developer's machine, that is only what else is paused. */
export function agreementOf({ tool, taken, reconcilers }: Question): string[] {
  return [...(tool === undefined ? taken : []), ...reconcilers.map(pauses)];
}

/** One question for several Deployments in the same cluster. */
export function together([first, ...others]: [Question, ...Question[]]): Question {
  const all = [first, ...others];
  const reconcilers = new Map(
    all.flatMap((one) => one.reconcilers).map((one) => [describe(one.ref), one] as const),
  );
  return {
    ...first,
    taken: [...new Set(all.flatMap(({ taken }) => taken))],
    circumstances: [...new Set(all.flatMap(({ circumstances }) => circumstances))],
    reconcilers: [...reconcilers.values()],
  };
}

export function isEmpty({ taken, reconcilers }: Pending): boolean {
  return taken.length + reconcilers.length === 0;
}

/** Pausing a Deployment beside the manager is remembered apart from taking it over. */
function pauses({ ref }: Reconciler): string {
  return `also pauses ${describe(ref)}`;
}

/** The facts on which the user decides. */
export function factsOf(
  { cluster: { context, server } }: Question,
  { taken, circumstances, reconcilers }: Pending,
): string {
  const first =
    taken.length === 0
      ? []
      : [
          `From this machine, devloop has not yet taken over in the cluster of context ${context} (${server}):`,
          ...taken.map((one) => `  ${one}`),
        ];
  return [...first, ...circumstances, ...reconcilers.map(whySuspected)].join('\n');
}

/** Names who could have forged it, because the user has to judge the evidence. */
export function whySuspected({ ref, evidence }: Reconciler): string {
  if (evidence === undefined) return `You asked to pause ${describe(ref)}, too.`;
  const { wrote, writer } = evidence;
  return [
    `${describe(ref)} seems to have written ${describe(wrote)} (managedFields: ${shellWord(writer)}), and would then overwrite what devloop changes there.`,
    `Whoever is allowed to change ${describe(wrote)} can have made that up.`,
  ].join(' ');
}

export function questionText({ taken, reconcilers }: Pending): string {
  const names = reconcilers.map(({ ref }) => describe(ref)).join(', ');
  if (reconcilers.length === 0) return 'Take over there?';
  return taken.length === 0
    ? `Pause ${names}, too, until the session ends?`
    : `Take over there, and pause ${names}, too, until the session ends?`;
}

/** The flags with which the user agrees without being asked. */
export function flagsFor({ taken, reconcilers }: Pending, wantsOthers = true): string {
  const also = reconcilers.map(({ ref }) => `--also-pause ${ref.namespace}/${ref.name}`);
  const none = reconcilers.length > 0 ? ['--also-pause none'] : [];
  return [...(taken.length > 0 ? ['--yes'] : []), ...(wantsOthers ? also : none)].join(' ');
}
