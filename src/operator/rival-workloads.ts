/** Chooses the manager among several workloads that a webhook Service may belong to. */
import type { Service } from '../cluster/api/objects.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import { mountsOf } from './mounts.ts';
import { runsImage } from './similar-workload.ts';
import type { CheckoutFacts } from './sources.ts';
import type { TargetManager } from './target.ts';
import { type FoundWorkload, managerContainer } from './workload.ts';

/** A webhook Service, and the ports of the Pod that webhooks reach through it. */
interface Behind {
  service: Service;
  ports: (number | string)[];
}

/** Old scaffolds all select `control-plane: controller-manager`, so a namespace with two operators has two matches. */
export function bestOf(
  all: FoundWorkload[],
  { service, ports }: Behind,
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
  throw new DevloopError(
    'target.ambiguous',
    `Service ${namespace}/${name} ${problem(`${left[0]!.ref.kind}s`)}: ${names.join(', ')}.`,
    {
      hint: [
        'Choose one:',
        ...names.map((one) => `${AGAIN} --deployment ${shellWord(namespace)}/${shellWord(one)}`),
      ].join('\n'),
    },
  );
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
  behind: Behind,
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
  { ports }: Behind,
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
