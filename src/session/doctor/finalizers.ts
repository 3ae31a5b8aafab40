import type { ClusterApi } from '../../cluster/api/client.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { readyPods } from '../../cluster/takeover/pause/waits.ts';
import { DevloopError } from '../../errors.ts';
import { definitionNames } from '../../operator/webhooks.ts';
import { shellWord } from '../../phrases.ts';
import { type Check, type Finding, neededOperator } from './check.ts';

/** The most objects that are listed per kind. If there are more, the finding reports that. */
const LIMIT = 500;
const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Do objects of the operator's own kinds wait for a finalizer that no running controller would remove? */
export const finalizersCheck: Check = {
  name: 'finalizers',
  limitSeconds: 30,
  optional: true,
  async run({ context, operator, deadSessions }, signal) {
    const { target, facts } = await neededOperator(operator);
    const isHeld = await deadSessions.then(
      () => false,
      (error) => error instanceof DevloopError && error.code === 'session.held',
    );
    const { manager } = target;
    const ready = readyPods(manager?.object.status);
    const controller = isHeld ? 'a live devloop session' : ready > 0 ? 'the in-cluster manager' : undefined;
    const resume =
      manager?.object.spec.replicas !== undefined
        ? `kubectl -n ${shellWord(target.namespace)} scale ${manager.ref.kind.toLowerCase()} ${shellWord(manager.ref.name)} --replicas=1`
        : undefined;
    const { api } = await context;
    return finalizersFinding({ ...(await listWaiting(api, facts.groups, signal)), controller, resume });
  },
};

interface Definition extends KubeObject {
  spec: {
    group: string;
    names: { kind: string; plural: string };
    versions: { name: string; served: boolean; storage: boolean }[];
  };
}

interface WaitingObjects {
  kinds: string[];
  waiting: string[];
  /** Whether there were more objects than the limit. */
  truncated: boolean;
}

async function listWaiting(
  api: ClusterApi,
  groups: Set<string>,
  signal: AbortSignal,
): Promise<WaitingObjects> {
  const names = (await definitionNames(api)).filter((name) => groups.has(name.slice(name.indexOf('.') + 1)));
  const found = await Promise.all(
    names.map(async (name) => {
      const definition = await api.get<Definition>({ kind: 'CustomResourceDefinition', name });
      return definition ? await waitingOf(api, definition, signal) : { waiting: [], truncated: false };
    }),
  );
  return {
    kinds: names,
    waiting: found.flatMap((one) => one.waiting),
    truncated: found.some((one) => one.truncated),
  };
}

/** Lists the stored version, which needs no conversion: the conversion webhook may be down. */
async function waitingOf(
  api: ClusterApi,
  { spec }: Definition,
  signal: AbortSignal,
): Promise<{ waiting: string[]; truncated: boolean }> {
  const stored = spec.versions.find((version) => version.storage && version.served) ?? spec.versions[0]!;
  const path = `/apis/${spec.group}/${stored.name}/${spec.names.plural}`;
  const list = await api.call<{ items: KubeObject[] | null; metadata?: { continue?: string } }>(
    'GET',
    path,
    undefined,
    {
      accept: METADATA,
      query: { limit: String(LIMIT) },
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
  return { waiting, truncated: (list.metadata?.continue ?? '') !== '' };
}

/** `controller`: who would remove the finalizers; `resume`: the command that starts the in-cluster manager. */
export function finalizersFinding({
  kinds,
  waiting,
  truncated,
  controller,
  resume,
}: WaitingObjects & { controller: string | undefined; resume: string | undefined }): Finding {
  if (kinds.length === 0)
    return { verdict: 'unknown', answer: 'the cluster has none of the kinds that this checkout defines' };
  const proof = [
    `${truncated ? `the first ${LIMIT} objects` : 'all objects'} of ${kinds.join(', ')}`,
    controller ? `${controller} is running` : 'no controller is running',
  ];
  if (waiting.length === 0) return { verdict: 'ok', answer: 'no object is waiting for a finalizer', proof };
  const list = waiting.slice(0, 5).join(', ') + (waiting.length > 5 ? ` and ${waiting.length - 5} more` : '');
  if (controller !== undefined)
    return {
      verdict: 'ok',
      answer: `${controller} can remove the finalizers of objects that are being deleted: ${list}`,
      proof,
    };
  const hint = `\`devloop up\` runs a controller that removes them${resume ? `; in the cluster: ${resume}` : ''}`;
  return {
    verdict: 'warn',
    answer: `no controller is running to remove the finalizers of objects that are being deleted: ${list}`,
    proof,
    hint,
  };
}
