import { pollUntil } from '../../async.ts';
import { selfSignedPair } from '../../certificates/self-signed.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { isNotFound } from '../../cluster/api/errors.ts';
import { messageOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from '../context/options.ts';
import { type Declared, serverNames, toInstall } from './objects.ts';

const ESTABLISHED_MS = 10_000;
const LOOK_EVERY_MS = 50;
const CERTIFICATE_DAYS = 30;
const APPLY = {
  contentType: 'application/apply-patch+yaml',
  query: { fieldManager: 'devloop', force: 'true' },
};
const CRD = 'CustomResourceDefinition';

/** Creates what the manifests of the checkout declare, as `kubectl apply --server-side` would, and says what it leaves out. */
export async function install(
  api: ClusterApi,
  declared: Declared[],
  { emit, signal }: Pick<Io, 'emit' | 'signal'>,
): Promise<void> {
  const names = serverNames(declared);
  const pair = names.length > 0 ? await selfSignedPair(names, { days: CERTIFICATE_DAYS }) : undefined;
  const { objects, leftOut } = toInstall(declared, pair);
  const say = (object: Declared, why: string): void =>
    emit(notice('embedded.left-out', { kind: object.kind ?? '', name: object.metadata.name, why }));
  for (const { object, why } of leftOut) say(object, why);
  const kinds = new Kinds(api);
  const create = async (object: Declared): Promise<void> => {
    const path = await kinds.pathOf(object);
    if (path === undefined) return say(object, 'the API server does not serve this kind');
    await api.call('PATCH', path, object, APPLY).catch((error: unknown) => {
      signal.throwIfAborted();
      say(object, messageOf(error));
    });
  };
  for (const stage of objects) {
    signal.throwIfAborted();
    await Promise.all(stage.map(create));
    const crds = stage.filter(({ kind }) => kind === CRD);
    if (crds.length > 0) await kinds.settled(crds, signal);
  }
}

interface ResourceList {
  resources: { name: string; kind: string; namespaced: boolean }[];
}

/** Where the API server has the objects of each kind. */
class Kinds {
  #api: Pick<ClusterApi, 'call'>;
  #lists = new Map<string, Promise<ResourceList | undefined>>();

  constructor(api: Pick<ClusterApi, 'call'>) {
    this.#api = api;
  }

  /** Undefined if the kind is not served. */
  async pathOf({
    apiVersion = '',
    kind,
    metadata: { name, namespace = 'default' },
  }: Declared): Promise<string | undefined> {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    if (!this.#lists.has(root)) this.#lists.set(root, this.#list(root));
    const list = await this.#lists.get(root);
    const found = list?.resources.find((one) => one.kind === kind && !one.name.includes('/'));
    if (found === undefined) return undefined;
    const place = found.namespaced ? ['namespaces', namespace] : [];
    return [root, ...[...place, found.name, name].map(encodeURIComponent)].join('/');
  }

  /** Waits until the API server serves these CRDs. */
  async settled(crds: Declared[], signal: AbortSignal): Promise<void> {
    for (const crd of crds) {
      const path = await this.pathOf(crd);
      const isServed = async (): Promise<boolean> => {
        const { status } = await this.#api.call<Crd>('GET', path!);
        return (status?.conditions ?? []).some((one) => one.type === 'Established' && one.status === 'True');
      };
      const limits = { everyMs: LOOK_EVERY_MS, limitMs: ESTABLISHED_MS, signal };
      if (path) await pollUntil(() => isServed().catch(() => false), limits);
    }
    this.#lists.clear();
  }

  async #list(root: string): Promise<ResourceList | undefined> {
    return await this.#api.call<ResourceList>('GET', root).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }
}

interface Crd {
  status?: { conditions?: { type: string; status: string }[] };
}
