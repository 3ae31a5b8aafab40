import { basename } from 'node:path';
import type { CheckoutFacts } from '../checkout/facts.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfRefused } from '../cluster/api/errors.ts';
import { type ObjectRef, refOf } from '../cluster/api/kinds.ts';
import type { KubeObject } from '../cluster/api/objects.ts';
import { controllerOf } from '../cluster/api/ownership.ts';
import type { Container, Workload } from '../cluster/api/workloads.ts';
import { sessionOf } from '../cluster/marks/marks.ts';
import { ownersOf } from '../cluster/marks/owners.ts';
import { imageName } from '../phrases.ts';
import { describe } from '../report/object-name.ts';
import { deploys } from './owners.ts';
import { type ApiListing, isNeededByOthers } from './served-apis.ts';
import type { Evidence, Reconciler, Target } from './target.ts';
import type { WebhookService } from './webhooks.ts';

/** Where to look: the Deployments of the manager's namespace, all webhook Services, and the APIs that Pods serve. */
export interface Surroundings extends ApiListing {
  deployments: Workload[];
  webhookServices: Pick<WebhookService, 'namespace' | 'name'>[];
  facts: Pick<CheckoutFacts, 'names' | 'images'>;
}

/**
 * Finds the Deployments in the manager's namespace whose program created a Service or the manager, according to managedFields. If there is
 * none, and the writer is a program of the checkout, looks in all namespaces. Leaves out Deployments that others need. Anybody who can
 * write to such an object can name any program in managedFields: the result only decides whom the user is asked about.
 */
export async function findReconcilers(
  api: ClusterApi,
  target: Pick<Target, 'services' | 'manager'>,
  surroundings: Surroundings,
): Promise<Reconciler[]> {
  const { deployments, facts } = surroundings;
  const writes = writesIn(target);
  const images = [...facts.images, imageName(target.manager?.container.image ?? '')].filter(Boolean);
  let found = writersAmong(deployments, writes, { ...target, images });
  const ours = writes.filter(({ writer }) => facts.names.has(writer) || facts.images.has(writer));
  if (found.length === 0 && ours.length > 0) {
    const everywhere = await api.list<Workload>('Deployment', undefined).catch(noneIfRefused);
    found = writersAmong(everywhere, ours, { ...target, images });
  }
  const spared = await Promise.all(found.map((one) => isNeededByOthers(api, one, surroundings)));
  return found.filter((_, index) => !spared[index]);
}

function writesIn({ services, manager }: Pick<Target, 'services' | 'manager'>): Write[] {
  if (manager === undefined) return [];
  const own = programsOf([manager.container]);
  // A manager may create its own Service, but hardly the workload that it runs in.
  const ofServices = services
    .flatMap(({ service }) => writersIn(service, 'Service'))
    .filter(({ writer }) => !own.includes(writer));
  const all = [...ofServices, ...writersIn(manager.object, manager.ref.kind)];
  const { uid } = manager.object.metadata;
  return all.filter(({ writer, owner }) => !deploys(writer) && (owner === undefined || owner !== uid));
}

/** The Deployments whose program is a writer. Of several with the same name, any may be the writer, so none is taken. */
function writersAmong(
  deployments: Workload[],
  writes: Write[],
  { manager, images }: Pick<Target, 'manager'> & { images: string[] },
): Reconciler[] {
  const found = deployments.flatMap((object): Reconciler[] => {
    const ref = refOf('Deployment', object.metadata);
    const programs = programsOf(object.spec.template.spec.containers);
    const isOfCheckout = object.spec.template.spec.containers.some(({ image }) =>
      images.includes(imageName(image ?? '')),
    );
    const write = writes.find(
      ({ writer, owner }) =>
        programs.includes(writer) && (!USUAL_NAMES.has(writer) || (owner !== undefined && isOfCheckout)),
    );
    if (write === undefined || !isRunning(object) || (manager && describe(ref) === describe(manager.ref)))
      return [];
    return [{ ref, object, evidence: { wrote: write.wrote, writer: write.writer } }];
  });
  const namesakes = Map.groupBy(found, ({ evidence }) => evidence?.writer);
  return found.filter(({ evidence }) => namesakes.get(evidence?.writer)?.length === 1);
}

/** Whether there is something to pause. A dead session may have left it paused. */
export function isRunning(deployment: Workload): boolean {
  return deployment.spec.replicas !== 0 || sessionOf(deployment) !== undefined;
}

/** The program of many operators has such a name, so it counts only with an owner, in an image of the checkout. */
const USUAL_NAMES = new Set(['manager', 'operator', 'controller', 'main', 'server']);

interface Write extends Evidence {
  /** The uid of the object that controls what was written. */
  owner: string | undefined;
}

/** Whoever creates a Service or a workload writes its selector; others seldom do. */
function writersIn(object: KubeObject, kind: ObjectRef['kind']): Write[] {
  const wrote = refOf(kind, object.metadata);
  const owner = controllerOf(object.metadata)?.uid;
  return ownersOf(object, ['spec', 'selector']).map(({ manager }) => ({ wrote, writer: manager, owner }));
}

/**
 * The names by which a container's program may call itself. An image can have any entrypoint; often it has the name of the image. If it has
 * none, the first argument is the program.
 */
function programsOf(containers: Container[]): string[] {
  return containers.flatMap(({ command: [program] = [], args: [first = ''] = [], image, name }) =>
    program === undefined
      ? [imageName(image ?? ''), name, ...(first.startsWith('/') ? [basename(first)] : [])]
      : [basename(program)],
  );
}
