import type { ClusterApi } from '../../cluster/api/client.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { DevloopError } from '../../errors.ts';
import { definitionNames } from '../../operator/webhooks.ts';
import { type Check, type Finding, standingOn } from './check.ts';
import type { DiscoveredOperator } from './operator.ts';

/** Of each kind; whoever has more has other worries, and it is said. */
const AT_MOST = 500;
const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Objects of the operator's own kinds that are to be deleted, wait on a finalizer, and have no controller that would take it off. */
export function finalizersCheck(
  api: ClusterApi,
  operator: Promise<DiscoveredOperator>,
  dead: Promise<string[]>,
): Check {
  return {
    name: 'finalizers',
    limitSeconds: 30,
    aside: true,
    async run(signal) {
      const { target, groups } = await standingOn(operator, 'there is no target');
      const isHeld = await dead.then(
        () => false,
        (error) => error instanceof DevloopError && error.code === 'session.held',
      );
      const ready = target.deployment?.object.status?.readyReplicas ?? 0;
      const runs = isHeld ? 'a live session of devloop' : ready > 0 ? 'the in-cluster manager' : undefined;
      const wake =
        target.deployment &&
        `kubectl -n ${target.namespace} scale deployment ${target.deployment.object.metadata.name} --replicas=1`;
      return finalizersFinding({ ...(await listWaiting(api, groups, signal)), runs, wake });
    },
  };
}

interface Definition extends KubeObject {
  spec: {
    group: string;
    names: { kind: string; plural: string };
    versions: { name: string; served: boolean; storage: boolean }[];
  };
}

interface Waiting {
  kinds: string[];
  waiting: string[];
  /** Not all objects were looked at. */
  cut: boolean;
}

async function listWaiting(api: ClusterApi, groups: Set<string>, signal: AbortSignal): Promise<Waiting> {
  const names = (await definitionNames(api)).filter((name) => groups.has(name.slice(name.indexOf('.') + 1)));
  const found = await Promise.all(
    names.map(async (name) => {
      const definition = await api.get<Definition>({ kind: 'CustomResourceDefinition', name });
      return definition ? await waitingOf(api, definition, signal) : { waiting: [], cut: false };
    }),
  );
  return {
    kinds: names,
    waiting: found.flatMap((one) => one.waiting),
    cut: found.some((one) => one.cut),
  };
}

/** The stored version needs no conversion, whose webhook may be dead. */
async function waitingOf(
  api: ClusterApi,
  { spec }: Definition,
  signal: AbortSignal,
): Promise<{ waiting: string[]; cut: boolean }> {
  const stored = spec.versions.find((version) => version.storage && version.served) ?? spec.versions[0]!;
  const path = `/apis/${spec.group}/${stored.name}/${spec.names.plural}`;
  const list = await api.call<{ items: KubeObject[] | null; metadata?: { continue?: string } }>(
    'GET',
    path,
    undefined,
    {
      accept: METADATA,
      query: { limit: String(AT_MOST) },
      signal,
    },
  );
  const waiting = (list.items ?? [])
    .filter(
      ({ metadata }) => metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length > 0,
    )
    .map(({ metadata }) => {
      const name =
        metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
      return `${spec.names.kind} ${name} (${metadata.finalizers!.join(', ')})`;
    });
  return { waiting, cut: (list.metadata?.continue ?? '') !== '' };
}

/** Pure. `runs`: who would take the finalizers off; `wake`: what starts the in-cluster manager. */
export function finalizersFinding({
  kinds,
  waiting,
  cut,
  runs,
  wake,
}: Waiting & { runs: string | undefined; wake: string | undefined }): Finding {
  if (kinds.length === 0)
    return { verdict: 'unknown', answer: 'the cluster has no kind that this checkout defines' };
  const proof = `${cut ? `the first ${AT_MOST} objects` : 'all objects'} of ${kinds.join(', ')}; ${runs ? `${runs} at work` : 'no controller at work'}`;
  if (waiting.length === 0) return { verdict: 'ok', answer: 'no object waits on a finalizer', proof };
  const list = waiting.slice(0, 5).join(', ') + (waiting.length > 5 ? ` and ${waiting.length - 5} more` : '');
  if (runs !== undefined)
    return {
      verdict: 'ok',
      answer: `being deleted, and ${runs} can take the finalizer off: ${list}`,
      proof,
    };
  const hint = `\`devloop up\` runs a controller that does${wake ? `; in the cluster: ${wake}` : ''}`;
  return {
    verdict: 'warn',
    answer: `to be deleted, but no controller runs that would take the finalizer off: ${list}`,
    proof,
    hint,
  };
}
