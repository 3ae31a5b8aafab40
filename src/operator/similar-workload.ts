import type { Workload } from '../cluster/api/workloads.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import { imageName, shellWord } from '../phrases.ts';
import type { CheckoutFacts } from './sources.ts';
import type { FoundWorkload } from './workload.ts';

/**
 * The score that only two signs together reach, such as name and label, or name and image. One alone is not enough to scale something down.
 */
const TWO_SIGNS = 4;

/**
 * Finds the manager by its name, for an operator without webhooks or with paths that many operators serve; `answers`: whether a workload
 * answers such a webhook. Returns undefined if no name matches: then there is nothing to pause.
 */
export function similarWorkload(
  all: FoundWorkload[],
  facts: CheckoutFacts,
  answers: (one: FoundWorkload) => boolean = () => false,
): FoundWorkload | undefined {
  const scored = all
    .map((listed) => {
      const byWebhook = runsImage(listed.object, facts) && answers(listed) ? TWO_SIGNS : 0;
      return { ...listed, score: nameScore(listed.object, facts) + byWebhook };
    })
    .filter((one) => one.score >= TWO_SIGNS);
  scored.sort((a, b) => b.score - a.score);
  const best = scored[0];
  if (best === undefined) return undefined;
  const rivals = scored.filter((one) => one.score === best.score || one.ref.namespace !== best.ref.namespace);
  // The only rival is the best match itself.
  if (rivals.length === 1) return { ref: best.ref, object: best.object };
  const list = rivals.map(({ ref }) => `${ref.namespace}/${ref.name}`);
  throw new DevloopError(
    'target.ambiguous',
    `Several ${best.ref.kind}s match this checkout by name: ${list.join(', ')}.`,
    { hint: ['Choose one:', ...list.map((one) => `${AGAIN} --deployment ${shellWord(one)}`)].join('\n') },
  );
}

/** Whether one of the workload's images is named like the checkout, or like an image that the checkout builds. */
export function runsImage(
  workload: Workload,
  { names, images }: Pick<CheckoutFacts, 'names' | 'images'>,
): boolean {
  const own = workload.spec.template.spec.containers.map(({ image = '' }) => imageName(image));
  return own.some((image) => names.has(image) || images.has(image));
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
