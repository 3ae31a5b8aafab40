/** Chooses among several workloads, or several installations, that may be the operator; throws 'target.ambiguous' if the user has to. */

import type { CheckoutFacts } from '../checkout/facts.ts';
import { Checkout } from '../checkout/files.ts';
import type { Service } from '../cluster/api/objects.ts';
import type { Workload } from '../cluster/api/workloads.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import { checkoutFacts } from '../languages.ts';
import { shellWord } from '../phrases.ts';
import { type RankedService, rank } from './match.ts';
import { mountsOf } from './mounts.ts';
import type { TargetManager } from './target.ts';
import { type FoundWorkload, managerContainer, runsImage } from './workload.ts';

/** A webhook Service, and the ports of the Pod that webhooks reach through it. */
interface CalledService {
  service: Service;
  ports: (number | string)[];
}

/** Old scaffolds all select `control-plane: controller-manager`, so a namespace with two operators has two matches. */
export function bestOf(
  all: FoundWorkload[],
  { service, ports }: CalledService,
  problem: (kinds: string) => string,
): FoundWorkload {
  const alike = ({ ref }: FoundWorkload): number => commonParts(ref.name, service.metadata.name);
  const most = Math.max(...all.map(alike));
  const named = all.filter((one) => alike(one) === most);
  const mounting = named.filter((one) => mountsSecret(one, ports));
  const left = mounting.length > 0 ? mounting : named;
  if (left.length === 1) return left[0]!;
  const { namespace, name } = service.metadata;
  const names = left.map(({ ref }) => ref.name);
  const what = `Service ${namespace}/${name} ${problem(`${left[0]!.ref.kind}s`)}: ${names.join(', ')}.`;
  throw ambiguous(what, '--deployment', left);
}

/** The user has to choose among these workloads, or Services. */
function ambiguous(
  message: string,
  flag: '--deployment' | '--service',
  rivals: (FoundWorkload | RankedService)[],
): DevloopError {
  const names = rivals.map((one) => ('ref' in one ? one.ref : one));
  const commands = names.map(
    ({ namespace, name }) => `${AGAIN} ${flag} ${shellWord(namespace)}/${shellWord(name)}`,
  );
  return new DevloopError('target.ambiguous', message, { hint: ['Choose one:', ...commands].join('\n') });
}

function mountsSecret({ object }: FoundWorkload, ports: (number | string)[]): boolean {
  return mountsOf(object, managerContainer(object, ports)).some(({ kind }) => kind === 'Secret');
}

/** The number of leading dash-separated parts that two names have in common. */
function commonParts(a: string, b: string): number {
  const [left, right] = [a.split('-'), b.split('-')];
  const differs = left.findIndex((part, index) => part !== right[index]);
  return differs < 0 ? left.length : differs;
}

/**
 * The manager behind a Service without a selector, as far as the workloads of its namespace show it. Returns undefined if none of them
 * looks like a webhook server.
 */
export function unselectedManager(
  all: FoundWorkload[],
  behind: CalledService,
  facts: Pick<CheckoutFacts, 'names' | 'images'>,
): Omit<TargetManager, 'container'> | undefined {
  const judged = all.map((one) => ({ one, signs: signsOf(one, behind, facts) }));
  const most = Math.max(0, ...judged.map(({ signs }) => signs.length));
  if (most === 0) return undefined;
  const likely = judged.filter(({ signs }) => signs.length === most);
  const best = bestOf(
    likely.map(({ one }) => one),
    behind,
    (kinds) => `has no selector, and may belong to several ${kinds}`,
  );
  const [sign] = likely.find(({ one }) => one === best)!.signs;
  return {
    ...best,
    source: `Service ${behind.service.metadata.name} has no selector; this ${best.ref.kind} ${sign}`,
  };
}

/** What makes a workload look like the server of these webhooks, for display. */
function signsOf(
  found: FoundWorkload,
  { ports }: CalledService,
  facts: Pick<CheckoutFacts, 'names' | 'images'>,
): string[] {
  const { object } = found;
  const declared = (managerContainer(object, ports).ports ?? []).flatMap((one) => [
    one.containerPort,
    ...(one.name === undefined ? [] : [one.name]),
  ]);
  const isServer = mountsSecret(found, ports) && ports.some((port) => declared.includes(port));
  return [
    ...(runsImage(object, facts) ? ['runs the image of this checkout'] : []),
    ...(isServer ? ['declares its port, and mounts a Secret'] : []),
    ...(object.spec.template.metadata?.labels?.['control-plane'] === 'controller-manager'
      ? ['has the label control-plane: controller-manager']
      : []),
  ];
}

/**
 * The score that only two signs together reach, such as name and label, or name and image. One alone is not enough to scale something down.
 */
const TWO_SIGNS = 4;
/** Among workloads that are all the checkout's, its name is enough. */
const ONE_SIGN = 1;

/**
 * Finds the manager by its name, for an operator without webhooks or with paths that many operators serve; `answers`: whether a workload
 * answers such a webhook. Returns undefined if no name matches: then there is nothing to pause.
 */
export function similarWorkload(
  all: FoundWorkload[],
  facts: CheckoutFacts,
  { isAlone, answers = () => false }: { isAlone: boolean; answers?: (one: FoundWorkload) => boolean },
): FoundWorkload | undefined {
  const scored = all
    .map((listed) => {
      const byWebhook = runsImage(listed.object, facts) && answers(listed) ? TWO_SIGNS : 0;
      return { ...listed, score: nameScore(listed.object, facts) + byWebhook };
    })
    .filter((one) => one.score >= (isAlone ? ONE_SIGN : TWO_SIGNS));
  scored.sort((a, b) => b.score - a.score);
  const best = scored[0];
  if (best === undefined) return undefined;
  const rivals = scored.filter((one) => one.score === best.score || one.ref.namespace !== best.ref.namespace);
  // The only rival is the best match itself.
  if (rivals.length === 1) return { ref: best.ref, object: best.object };
  const list = rivals.map(({ ref }) => `${ref.namespace}/${ref.name}`);
  throw ambiguous(
    `Several ${best.ref.kind}s match this checkout by name: ${list.join(', ')}.`,
    '--deployment',
    rivals,
  );
}

function nameScore(workload: Workload, facts: CheckoutFacts): number {
  const { metadata, spec } = workload;
  const { serviceAccountName = 'default' } = spec.template.spec;
  // An operator has a ServiceAccount of its own. A workload without one is more likely something that an operator of that name manages.
  if (serviceAccountName === 'default') return 0;
  const byImage = runsImage(workload, facts) ? 2 : 0;
  const score = [...facts.names].map((name) => {
    const byLabel = metadata.labels?.['app.kubernetes.io/name'] === name ? 2 : 0;
    const byNamespace = metadata.namespace === `${name}-system` ? 1 : 0;
    return byLabel + similarity(metadata.name, name) + byNamespace;
  });
  return byImage + Math.max(0, ...score);
}

function similarity(workload: string, name: string): number {
  if (workload === name || workload === `${name}-controller-manager`) return 3;
  return workload.startsWith(`${name}-`) ? 1 : 0;
}

/**
 * Chooses among operators in several namespaces that all match the checkout. A repository can contain several operators, each in a
 * directory of its own. If devloop was started in such a directory, and the sources there have the webhooks of only one of the operators,
 * it is that one. Otherwise throws 'target.ambiguous'.
 */
export async function chooseAmong(
  rivals: RankedService[],
  { startedIn }: Pick<CheckoutFacts, 'startedIn'>,
): Promise<RankedService> {
  const near = startedIn === undefined ? [] : rank(rivals, await checkoutFacts(new Checkout(startedIn)));
  const certain = near.filter((one) => one.certain);
  const [best] = certain;
  if (best === undefined || certain.some(({ namespace }) => namespace !== best.namespace))
    throw severalInstallations(rivals);
  return best;
}

function severalInstallations(rivals: RankedService[]): DevloopError {
  const list = rivals.map(
    ({ namespace, name, evidence }) => `\n  ${namespace}/${name}  (${evidence.join('; ')})`,
  );
  return ambiguous(
    `Several operators in the cluster match this checkout:${list.join('')}`,
    '--service',
    rivals,
  );
}
