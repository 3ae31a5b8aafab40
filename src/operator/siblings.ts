import type { CheckoutFacts } from '../checkout/facts.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfForbidden } from '../cluster/api/errors.ts';
import { type ObjectRef, refOf } from '../cluster/api/kinds.ts';
import type { Metadata } from '../cluster/api/objects.ts';
import { controllerOf } from '../cluster/api/ownership.ts';
import type { Container, Workload } from '../cluster/api/workloads.ts';
import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { describe } from '../report/object-name.ts';
import { hintOfMissing } from './missing.ts';
import { findReconcilers, isRunning, type Surroundings } from './reconcilers.ts';
import { isNeededByOthers } from './served-apis.ts';
import { type Reconciler, splitName, type Target, type TargetManager, type TargetNames } from './target.ts';
import type { FoundWorkload } from './workload.ts';

/** Looks at the Deployments beside the manager. Returns those that have to be paused, too, and reports which others keep running. */
export async function lookBeside(
  { api, names, emit }: { api: ClusterApi; names: TargetNames; emit: Emit },
  target: Target,
  surroundings: Omit<Surroundings, 'deployments'>,
): Promise<Reconciler[]> {
  const { manager } = target;
  if (manager === undefined)
    return await chooseReconcilers({ api, names, suspects: [] }, { ...surroundings, deployments: [] });
  const deployments = await api.list<Workload>('Deployment', manager.ref.namespace).catch(noneIfForbidden);
  const around = { ...surroundings, deployments };
  const suspects = await findReconcilers(api, target, around);
  const chosen = await chooseReconcilers({ api, names, manager, suspects }, around);
  const reconcilers = chosen.filter(({ ref }) => !isNamed(ref, names));
  const paused = reconcilers.map(({ ref }) => describe(ref));
  const running = deployments.filter((one) => !paused.includes(describe(refOf('Deployment', one.metadata))));
  reportSiblings({ manager, deployments: running, names }, surroundings.facts, emit);
  return reconcilers;
}

/**
 * The Deployments to pause besides the manager: those that the user or a file named and, unless the user wants no other, the suspects. Throws
 * 'target.not-found' for a name without a Deployment, and 'pause.unsupported' for a Deployment that others need.
 */
async function chooseReconcilers(
  {
    api,
    names: { alsoPause },
    manager,
    suspects,
  }: { api: ClusterApi; names: TargetNames; manager?: TargetManager; suspects: Reconciler[] },
  surroundings: Surroundings,
): Promise<Reconciler[]> {
  if (alsoPause === undefined) return suspects;
  const { file } = alsoPause;
  const named = [...new Set(alsoPause.named)];
  const found = await Promise.all(
    named.map(async (name) => {
      const object = await readNamed(api, name, named);
      const ref = refOf('Deployment', object.metadata);
      const suspect = suspects.find((one) => describe(one.ref) === describe(ref));
      const isOther = manager === undefined || describe(ref) !== describe(manager.ref);
      // There is nothing to do for the manager, which is paused in any case, nor for a Deployment that somebody else has scaled down.
      if (!isOther || !isRunning(object)) return [];
      if (suspect === undefined && (await isNeededByOthers(api, { ref, object }, surroundings)))
        throw needed(name);
      const by = file === undefined ? { isNamed: true as const } : { namedIn: file };
      return [{ ref, object, ...suspect, ...by }];
    }),
  );
  const chosen = found.flat();
  const others = suspects.filter(({ ref }) => !named.includes(`${ref.namespace}/${ref.name}`));
  return alsoPause.nothingElse ? chosen : [...chosen, ...others];
}

async function readNamed(api: ClusterApi, text: string, named: string[]): Promise<Workload> {
  const { namespace, name } = splitName(text, api.namespace);
  const object = await api.get<Workload>({ kind: 'Deployment', namespace, name });
  if (object !== undefined) return object;
  const missing = { namespace, name, flag: '--also-pause', named } as const;
  throw new DevloopError('target.not-found', `Deployment ${text} does not exist.`, {
    hint: await hintOfMissing(api, ['Deployment'], missing),
  });
}

function needed(name: string): DevloopError {
  return new DevloopError(
    'pause.unsupported',
    `Deployment ${name} answers webhooks or serves an API, or your account is not allowed to find out whether it does. Those would fail while it is paused.`,
    { hint: 'Take it over, too, with a second --deployment, or leave out --also-pause.' },
  );
}

/** Reports which other Deployments of the operator keep running in the cluster, such as a webhook server beside the manager. */
export function reportSiblings(
  { manager, deployments, names }: { manager: TargetManager; deployments: Workload[]; names: TargetNames },
  facts: Pick<CheckoutFacts, 'names'>,
  emit: Emit,
): void {
  const { ref } = manager;
  const others = deployments
    .map((object) => ({ ref: refOf('Deployment', object.metadata), object }))
    .filter((one) => describe(one.ref) !== describe(ref));
  const rest = siblingsOf(manager, others, facts).filter((one) => !isNamed(one.ref, names));
  if (rest.length === 0) return;
  const taken = others.filter((one) => isNamed(one.ref, names));
  const together = [ref, ...taken.map((one) => one.ref), rest[0]!.ref];
  emit(notice('operator.siblings', { siblings: rest.map((one) => one.ref), together }));
}

/** Whether the user takes this Deployment over in a session of its own. */
function isNamed({ namespace, name }: ObjectRef, { deployments = [] }: TargetNames): boolean {
  return deployments.some((one) => one === name || one === `${namespace}/${name}`);
}

/** Labels that the parts of one installation share. */
const SHARED = ['name', 'instance', 'part-of'].map((key) => `app.kubernetes.io/${key}`);

/**
 * The Deployments among `others` that run the same image. A Deployment with another image of the same publisher counts, too, if it shares a
 * label with the manager or has the checkout's name.
 */
export function siblingsOf(
  { object: { metadata }, container }: Pick<TargetManager, 'object' | 'container'>,
  others: FoundWorkload[],
  { names }: Pick<CheckoutFacts, 'names'>,
): FoundWorkload[] {
  const image = repositoryOf(container);
  const isAlike = ({ name, labels }: Metadata): boolean =>
    SHARED.some((key) => labels?.[key] !== undefined && labels[key] === metadata.labels?.[key]) ||
    [...names].some((own) => name === own || name.startsWith(`${own}-`));
  return others.filter(({ object }) => {
    if (image === '' || object.spec.replicas === 0 || isManaged(object)) return false;
    const images = object.spec.template.spec.containers.map(repositoryOf);
    if (images.includes(image)) return true;
    return images.some((one) => publisherOf(one) === publisherOf(image)) && isAlike(object.metadata);
  });
}

/** Whether an operator created this workload for its users: one of their objects controls it, or it has no ServiceAccount of its own. */
function isManaged({ metadata, spec }: Workload): boolean {
  const owner = controllerOf(metadata);
  const { serviceAccountName = 'default' } = spec.template.spec;
  return serviceAccountName === 'default' || (owner !== undefined && owner.kind !== 'ClusterServiceVersion');
}

/** The image without tag and digest; empty if there is none. */
function repositoryOf({ image = '' }: Container): string {
  const [named = ''] = image.split('@');
  const tag = named.lastIndexOf(':');
  return tag > named.lastIndexOf('/') ? named.slice(0, tag) : named;
}

/** `ghcr.io/acme` for `ghcr.io/acme/shop/webhook`; empty for an image without a registry. */
function publisherOf(repository: string): string {
  const parts = repository.split('/');
  return parts.slice(0, Math.min(2, parts.length - 1)).join('/');
}
