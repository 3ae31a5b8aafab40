import type { Workload } from '../cluster/api/workloads.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import type { CheckoutFacts } from './sources.ts';
import type { FoundWorkload } from './workload.ts';

/** Any two signs, such as name and label, or name and image. One alone is not enough to scale something down. */
const TWO_SIGNS = 4;

/** For an operator without webhooks. Undefined where no name matches: then there is nothing to pause. */
export function similarWorkload(all: FoundWorkload[], facts: CheckoutFacts): FoundWorkload | undefined {
  const scored = all
    .map((listed) => ({ ...listed, score: nameScore(listed.object, facts) }))
    .filter((one) => one.score >= TWO_SIGNS);
  scored.sort((a, b) => b.score - a.score);
  const best = scored[0];
  if (best === undefined) return undefined;
  const rivals = scored.filter((one) => one.score === best.score || one.ref.namespace !== best.ref.namespace);
  // The best one is among them.
  if (rivals.length === 1) return { ref: best.ref, object: best.object };
  const list = rivals.map(({ ref }) => `${ref.namespace}/${ref.name}`);
  throw new DevloopError(
    'target.ambiguous',
    `Several ${best.ref.kind}s match this checkout by name: ${list.join(', ')}.`,
    { hint: ['Choose one:', ...list.map((one) => `${AGAIN} --deployment ${one}`)].join('\n') },
  );
}

function nameScore({ metadata, spec }: Workload, { names }: CheckoutFacts): number {
  const { containers, serviceAccountName = 'default' } = spec.template.spec;
  // An operator has an account of its own; without one, this is more likely something that an operator of that name manages.
  if (serviceAccountName === 'default') return 0;
  const images = containers.map(({ image = '' }) =>
    image
      .split('/')
      .pop()!
      .replace(/[:@].*$/, ''),
  );
  const score = [...names].map((name) => {
    const byLabel = metadata.labels?.['app.kubernetes.io/name'] === name ? 2 : 0;
    const byNamespace = metadata.namespace === `${name}-system` ? 1 : 0;
    const byImage = images.includes(name) ? 2 : 0;
    return byLabel + similarity(metadata.name, name) + byNamespace + byImage;
  });
  return Math.max(0, ...score);
}

function similarity(workload: string, name: string): number {
  if (workload === name || workload === `${name}-controller-manager`) return 3;
  return workload.startsWith(`${name}-`) ? 1 : 0;
}
