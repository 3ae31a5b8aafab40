import { pollUntil, reportWhileWaiting } from '../../async.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { proveAccount, usernameOf } from '../../cluster/api/service-account.ts';
import type { Io } from '../context/options.ts';
import { READY_SECONDS } from './control-plane.ts';
import { CRD, type Declared } from './declared.ts';

const CALL_MS = 10_000;
const LOOK_EVERY_MS = 50;

/** What of the API server is used. */
type Asked = Pick<ClusterApi, 'openStream' | 'forwarderAs'>;

/**
 * Waits until the API server does what a cluster does that has run for a while: what Kubernetes itself creates exists, its RBAC knows the role
 * with which every account may ask who it is, and the CRDs can be watched. Otherwise, the first thing that the controller meets would be an
 * error that no cluster has. Never rejects.
 */
export async function untilBootstrapped(
  api: Asked,
  declared: readonly Declared[],
  { emit, signal }: Pick<Io, 'emit' | 'signal'>,
): Promise<void> {
  const isReady = async (): Promise<boolean> => {
    await answers(api, '/readyz', signal);
    await knowsAccounts(api, declared, signal);
    await Promise.all(watchesOf(declared).map((path) => answers(api, path, signal)));
    return true;
  };
  const limits = { everyMs: LOOK_EVERY_MS, limitMs: READY_SECONDS * 1000, signal };
  const ready = pollUntil(() => isReady().catch(() => false), limits);
  await reportWhileWaiting(ready, { for: "envtest's API server", limitSeconds: READY_SECONDS }, emit);
}

async function answers(api: Asked, path: string, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  try {
    await api.openStream(path, {
      ...{ accept: '*/*', silenceMs: CALL_MS },
      signal: AbortSignal.any([signal, ending.signal]),
    });
  } finally {
    // It has answered: that of a watch would never end.
    ending.abort();
  }
}

async function knowsAccounts(api: Asked, declared: readonly Declared[], signal: AbortSignal): Promise<void> {
  const accounts = declared.filter(({ kind }) => kind === 'ServiceAccount');
  for (const { metadata } of accounts) {
    const username = usernameOf({ namespace: metadata.namespace ?? 'default', name: metadata.name });
    using forwarder = api.forwarderAs({ impersonated: username });
    await proveAccount(forwarder, username, AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]));
  }
}

interface Crd {
  group: string;
  names: { plural: string };
  versions: { name: string; served: boolean }[];
}

function watchesOf(declared: readonly Declared[]): string[] {
  const crds = declared.filter(({ kind }) => kind === CRD);
  return crds.flatMap((one) => {
    const { group, names, versions = [] } = ((one as { spec?: Partial<Crd> }).spec ?? {}) as Partial<Crd>;
    const served = versions.filter((version) => version.served);
    return served.map(({ name }) => `/apis/${group}/${name}/${names?.plural}?watch=true&timeoutSeconds=5`);
  });
}
