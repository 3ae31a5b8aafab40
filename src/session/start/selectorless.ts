import type { ClusterApi } from '../../cluster/api/client.ts';
import { noneIfForbidden, undefinedIfForbidden } from '../../cluster/api/errors.ts';
import { refOf } from '../../cluster/api/kinds.ts';
import type { EndpointSlice, Endpoints, Service } from '../../cluster/api/objects.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { isSelectorless } from '../../cluster/marks/selector.ts';
import { isControllerSlice, slicesOf } from '../../cluster/takeover/slices.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { hostPort } from '../../machine/addresses.ts';
import type { Target, TargetManager } from '../../operator/target.ts';
import { shellQuoted, shellWord } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import type { RouteSettings } from '../route/routing.ts';

/** Refuses Services whose endpoints somebody else writes, unless the user wants to adopt them. */
export async function requireSelectors(
  api: ClusterApi,
  { services, manager }: Pick<Target, 'services' | 'manager'>,
  { adopt, choice }: { adopt: boolean; choice: RouteSettings['choice'] },
): Promise<void> {
  for (const { service, calls } of services) {
    if (isSelectorless(service) && calls.length === 0) throw uncalled(service);
    const refusal = adopt ? undefined : await selectorMissing(api, service, manager);
    if (refusal !== undefined) throw refusal;
    if (choice === 'relay' && isSelectorless(service)) throw notThroughRelay(service);
  }
}

/** The error for a Service without a selector; undefined if it has one, or had one before a session. */
export async function selectorMissing(
  api: ClusterApi,
  service: Service,
  manager: Pick<TargetManager, 'ref' | 'object'> | undefined,
): Promise<DevloopError | undefined> {
  if (!isSelectorless(service) || sessionOf(service) !== undefined) return undefined;
  const [endpoints, slices] = await Promise.all([
    api.get<Endpoints>(refOf('Endpoints', service.metadata)).catch(undefinedIfForbidden),
    slicesOf(api, service).catch(noneIfForbidden),
  ]);
  return selectorless({ service, endpoints, slices, context: api.context }, manager);
}

interface ServiceEndpoints {
  service: Service;
  endpoints: Endpoints | undefined;
  slices: EndpointSlice[];
  context: string;
}

/** Says where the Service points, and how its selector is restored: Kubernetes then writes its Endpoints, but not slices made by hand. */
export function selectorless(
  found: ServiceEndpoints,
  manager: Pick<TargetManager, 'ref' | 'object'> | undefined,
): DevloopError {
  const { namespace, name } = found.service.metadata;
  const all = addressesIn(found);
  const shown = all.slice(0, SHOWN).join(', ') + (all.length > SHOWN ? ', …' : '');
  const points = all.length === 0 ? 'It has no endpoints.' : `Its endpoints point to ${shown}.`;
  const message = `Service ${namespace}/${name} has no selector, so it does not call the Pods of its operator. ${points}`;
  const labels = manager?.ref.namespace === namespace ? labelsOf(manager?.object) : undefined;
  const restoring =
    manager === undefined || labels === undefined
      ? `To restore its selector, name its Deployment: ${AGAIN} --deployment NAMESPACE/NAME`
      : `To restore its selector (the labels of ${describe(manager.ref)}): ${restoreCommand(found, labels)}`;
  const adopting = 'To take it over as it is, until the end of the session: devloop up --adopt';
  return new DevloopError('service.selectorless', message, { hint: `${restoring}\n${adopting}` });
}

const SHOWN = 3;

/** Mirrored slices repeat the Endpoints. */
function addressesIn({ endpoints, slices }: Pick<ServiceEndpoints, 'endpoints' | 'slices'>): string[] {
  const subsets = (endpoints?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) =>
    addresses.flatMap(({ ip }) => ports.map(({ port }) => hostPort(ip, port))),
  );
  const others = slices
    .filter((one) => !isControllerSlice(one))
    .flatMap(({ endpoints: of, ports = [] }) =>
      (of ?? []).flatMap(({ addresses }) =>
        addresses.flatMap((ip) =>
          ports.flatMap(({ port }) => (port === undefined ? [] : hostPort(ip, port))),
        ),
      ),
    );
  return [...new Set([...subsets, ...others])];
}

/** The labels that select exactly the Pods of the workload. */
function labelsOf(workload: TargetManager['object'] | undefined): Record<string, string> | undefined {
  const { matchLabels = {} } = workload?.spec.selector ?? {};
  return Object.keys(matchLabels).length > 0 ? matchLabels : workload?.spec.template.metadata?.labels;
}

function restoreCommand(
  { service, slices, context }: ServiceEndpoints,
  selector: Record<string, string>,
): string {
  const { namespace, name } = service.metadata;
  const kubectl = `kubectl --context ${shellWord(context)} -n ${shellWord(namespace)}`;
  const patch = shellQuoted(JSON.stringify({ spec: { selector } }));
  const own = slices.filter((one) => !isControllerSlice(one)).map((one) => shellWord(one.metadata.name));
  const deleting = own.length === 0 ? '' : ` && ${kubectl} delete endpointslices ${own.join(' ')}`;
  return `${kubectl} patch service ${shellWord(name)} --type merge -p ${patch}${deleting}`;
}

/** Such as `kubernetes`, which leads to the API server. */
function uncalled({ metadata }: Service): DevloopError {
  return new DevloopError(
    'service.unsupported',
    `Service ${metadata.namespace}/${metadata.name} has no selector, and no webhook configuration calls it, so it is not the Service of your operator's webhooks.`,
    { hint: 'Leave out --service, so that devloop finds the Service that is called: devloop doctor' },
  );
}

function notThroughRelay({ metadata }: Service): DevloopError {
  return new DevloopError(
    'service.unsupported',
    `Service ${metadata.namespace}/${metadata.name} has no selector, and the relay route works by one: Kubernetes would overwrite its endpoints.`,
    { hint: `By another route: ${AGAIN} --route direct, or ${AGAIN} --route ssh:USER@HOST` },
  );
}
