import type { RecognisedCluster } from '../../cluster/api/recognise.ts';
import type { Reconciler } from '../../operator/target.ts';
import { shellWord } from '../../phrases.ts';
import { whySuspected } from '../../report/notices/pause.ts';
import { describe } from '../../report/object-name.ts';

/** What `up` needs the user's agreement for. */
export interface Question {
  cluster: RecognisedCluster & { context: string; server: string };
  /** What `up` takes over in this cluster, in the words in which an agreement is remembered. */
  taken: string[];
  /** The context that devloop.yaml names, if it is not the current one, in such words. */
  chosen: string[];
  /** What the user may not expect about the place of the operator. */
  circumstances: string[];
  reconcilers: Reconciler[];
}

/** What the user has not agreed to yet. */
export type Pending = Pick<Question, 'taken' | 'chosen' | 'circumstances' | 'reconcilers'>;

/** `agreed`: what is remembered. `ofCluster`: whether the user has just agreed to the cluster, with a flag. */
export function pendingOf(question: Question, agreed: ReadonlySet<string>, ofCluster: boolean): Pending {
  const isNew = (one: string): boolean => !ofCluster && !agreed.has(one);
  const taken = question.cluster.tool === undefined ? question.taken.filter(isNew) : [];
  return {
    taken,
    chosen: question.chosen.filter(isNew),
    circumstances: taken.length > 0 ? question.circumstances : [],
    reconcilers: question.reconcilers.filter((one) => !one.isNamed && !agreed.has(pauses(one))),
  };
}

/** What is remembered once the user has agreed; in a cluster of a developer's machine, not what is taken over. */
export function agreementOf({ cluster, taken, chosen, reconcilers }: Question): string[] {
  return [...(cluster.tool === undefined ? taken : []), ...chosen, ...reconcilers.map(pauses)];
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
    chosen: [...new Set(all.flatMap(({ chosen }) => chosen))],
    circumstances: [...new Set(all.flatMap(({ circumstances }) => circumstances))],
    reconcilers: [...reconcilers.values()],
  };
}

export function isEmpty({ taken, chosen, reconcilers }: Pending): boolean {
  return taken.length + chosen.length + reconcilers.length === 0;
}

/** Whether the cluster is part of the question. */
export function asksForCluster({ taken, chosen }: Pending): boolean {
  return taken.length + chosen.length > 0;
}

/** Pausing a Deployment beside the manager is remembered apart from taking it over. */
function pauses({ ref }: Reconciler): string {
  return `also pauses ${describe(ref)}`;
}

/** The facts on which the user decides. */
export function factsOf(
  { cluster: { context, server } }: Question,
  { taken, chosen, circumstances, reconcilers }: Pending,
): string {
  const where = `in the cluster of context ${context} (${server})`;
  const objects = taken.map((one) => `\n  ${one}`).join('');
  return [
    ...(taken.length > 0 ? [`From this machine, devloop has not yet taken over ${where}:${objects}`] : []),
    ...chosen.map((one) => `devloop uses ${one}.`),
    ...circumstances,
    ...reconcilers.map(whySuspected),
  ].join('\n');
}

export function questionText(pending: Pending): string {
  const names = pending.reconcilers.map(({ ref }) => describe(ref)).join(', ');
  if (names === '') return 'Take over there?';
  return asksForCluster(pending)
    ? `Take over there, and pause ${names}, too, until the session ends?`
    : `Pause ${names}, too, until the session ends?`;
}

/** The flags with which the user agrees without being asked. They replace those that the user or devloop.yaml has given, so they repeat them. */
export function flagsFor({ reconcilers }: Question, pending: Pending, pausesOthers = true): string {
  const wanted = reconcilers.filter(
    (one) => one.isNamed || (pending.reconcilers.includes(one) ? pausesOthers : one.namedIn !== undefined),
  );
  const others = pausesOthers || pending.reconcilers.length === 0 ? [] : ['none'];
  const also = [...wanted.map(({ ref }) => `${ref.namespace}/${ref.name}`), ...others];
  return [
    ...(asksForCluster(pending) ? ['--yes'] : []),
    ...also.map((one) => `--also-pause ${shellWord(one)}`),
  ].join(' ');
}
