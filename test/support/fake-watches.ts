/** Lists and watches of an API server in memory, for clients that follow one object, all objects of a kind, or those with a label. */
import type { ClusterApi } from '../../src/cluster/api/client.ts';
import { ApiError } from '../../src/cluster/api/errors.ts';
import { collectionPath, type Kind } from '../../src/cluster/api/kinds.ts';
import type { KubeObject } from '../../src/cluster/api/objects.ts';
import type { StreamOptions } from '../../src/cluster/api/transport.ts';
import { type Change, type FakeCluster, selector } from './fake-cluster.ts';

export interface FakeWatches {
  record(change: Change): void;
  list(path: string, query: Record<string, string>): Promise<object>;
  /** `deliver` is awaited before each event is delivered. */
  open(path: string, options: StreamOptions, deliver: Deliver): ReturnType<ClusterApi['openStream']>;
  /** Ends all watches, as the restart of an API server does: the clients have to list again. */
  cut(): void;
}

type Deliver = (what: string) => Promise<void>;

const nameIn = (query: Record<string, string>): string | undefined =>
  query.fieldSelector?.replace('metadata.name=', '');

const WATCHED: Kind[] = ['Service', 'Deployment', 'Endpoints', 'EndpointSlice', 'ConfigMap', 'Secret'];

export function fakeWatches(cluster: FakeCluster, namespace: string): FakeWatches {
  const history: Change[] = [];
  const wakers: (() => void)[] = [];
  let cuts = 0;
  const wakeAll = (): void => {
    for (const wake of wakers.splice(0)) wake();
  };
  const kindAt = (path: string): Kind => {
    const kind = WATCHED.find((one) => collectionPath(one, namespace) === path);
    if (kind === undefined) throw new Error(`nobody expects a watch of ${path}`);
    return kind;
  };
  const changed = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      wakers.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  /** The changes of the watched objects, as they come. */
  async function* changesFor(path: string, { query = {}, signal }: StreamOptions) {
    const [kind, name] = [kindAt(path), nameIn(query)];
    const hasLabels = selector(query.labelSelector ?? '');
    const isMeant = ({ ref, object }: Change): boolean =>
      ref.kind === kind && (name ?? ref.name) === ref.name && hasLabels(object);
    const since = Number(query.resourceVersion);
    const before = cuts;
    for (let next = 0; !signal.aborted; ) {
      if (cuts > before) throw new ApiError('too old resource version', 410, 'Expired');
      const change = history[next];
      if (change === undefined) await changed(signal);
      else next++;
      if (change === undefined || !isMeant(change)) continue;
      if (Number(change.object.metadata.resourceVersion) > since) yield change;
    }
  }
  async function* follow(path: string, options: StreamOptions, deliver: Deliver) {
    for await (const { type, ref, object } of changesFor(path, options)) {
      await deliver(`${type} ${ref.kind} ${ref.name}`);
      if (!options.signal.aborted) yield Buffer.from(`${JSON.stringify({ type, object })}\n`);
    }
  }
  return {
    record(change) {
      history.push(change);
      wakeAll();
    },
    async list(path, query) {
      const kind = kindAt(path);
      const name = nameIn(query);
      const all = cluster.names(kind).filter((one) => (name ?? one) === one);
      const items = all.map((one) => cluster.read<KubeObject>(kind, one, namespace)!);
      return {
        items: items.filter(selector(query.labelSelector ?? '')),
        metadata: { resourceVersion: cluster.version() },
      };
    },
    open: async (path, options, deliver) => follow(path, options, deliver),
    cut() {
      cuts++;
      wakeAll();
    },
  };
}
