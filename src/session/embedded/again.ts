import { pollUntil } from '../../async.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { type ObjectRef, refOf, WEBHOOK_KINDS } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { findMarked } from '../../cluster/takeover/find-marked.ts';
import { CRD, calledServices, type Declared, keyOf } from './declared.ts';
import { storedAs } from './kept.ts';

const GONE_MS = 20_000;
const LOOK_EVERY_MS = 50;

/**
 * Makes kept data ready for `install`: removes what the last session had taken over, because nothing has restored it, the webhooks, because
 * nothing answers them yet, and CRDs without objects whose stored versions the checkout no longer has. Throws 'embedded.data' if there are
 * objects.
 */
export async function readyAgain(
  api: ClusterApi,
  declared: readonly Declared[],
  signal: AbortSignal,
): Promise<void> {
  const { marked } = await findMarked(api, [], { secrets: false });
  const refs = [...marked.map(({ ref }) => ref), ...(await webhooksTo(api, declared))];
  await Promise.all(refs.map((ref) => api.remove(ref)));
  const crds = declared.filter(({ kind }) => kind === CRD);
  await Promise.all(crds.map((crd) => requireStored(api, crd, signal)));
}

/** The webhook configurations that call a Service of the checkout. */
async function webhooksTo(api: ClusterApi, declared: readonly Declared[]): Promise<ObjectRef[]> {
  const services = declared.filter(({ kind }) => kind === 'Service').map(({ metadata }) => keyOf(metadata));
  const found = WEBHOOK_KINDS.map(async (kind) => {
    const all = await api.list<Declared>(kind, undefined);
    const ours = all.filter((one) =>
      calledServices([{ ...one, kind }]).some((service) => services.includes(service)),
    );
    return ours.map(({ metadata }) => refOf(kind, metadata));
  });
  return (await Promise.all(found)).flat();
}

interface Crd extends KubeObject {
  spec: { group: string; names: { plural: string }; versions: { name: string; served: boolean }[] };
  status?: { storedVersions?: string[] };
}

async function requireStored(api: ClusterApi, declared: Declared, signal: AbortSignal): Promise<void> {
  const ref = refOf(CRD, declared.metadata);
  const before = await api.get<Crd>(ref);
  if (before === undefined) return;
  const versions = (declared as Partial<Crd>).spec?.versions?.map(({ name }) => name) ?? [];
  const dropped = (before.status?.storedVersions ?? []).filter((one) => !versions.includes(one));
  if (dropped.length === 0) return;
  if (await hasObjects(api, before)) throw storedAs(declared.metadata.name, dropped);
  await api.remove(ref);
  const isGone = async (): Promise<boolean> => (await api.get(ref)) === undefined;
  await pollUntil(isGone, { everyMs: LOOK_EVERY_MS, limitMs: GONE_MS, signal });
}

/** True also if they cannot be listed, for example because they would have to be converted. */
async function hasObjects(api: ClusterApi, { spec: { group, names, versions } }: Crd): Promise<boolean> {
  const served = versions.find((one) => one.served);
  if (served === undefined) return true;
  const path = `/apis/${group}/${served.name}/${names.plural}`;
  return await api.call<{ items: unknown[] }>('GET', path, undefined, { query: { limit: '1' } }).then(
    ({ items }) => items.length > 0,
    () => true,
  );
}
