import { rm } from 'node:fs/promises';
import { pollUntil } from '../../async.ts';
import { type ClusterApi, connect } from '../../cluster/api/client.ts';
import { isConflict } from '../../cluster/api/errors.ts';
import { loadKubeconfig } from '../../cluster/api/kubeconfig.ts';
import { messageOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from '../context/options.ts';
import { verifyDirectory } from '../context/session-directories.ts';
import { startControlPlane } from '../embedded/control-plane.ts';
import { type Definition, definitionsIn } from './kinds.ts';
import type { ApiServer } from './no-cluster.ts';

const ESTABLISHED_MS = 10_000;
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Starts an API server that has only the CRDs of the checkout. It listens on the loopback interface, and is gone when it is disposed. */
export async function startEnvtest(assets: string, checkout: string, io: Io): Promise<ApiServer> {
  await using started = new AsyncDisposableStack();
  const directory = await verifyDirectory(checkout, io.env);
  started.defer(() => rm(directory, { recursive: true, force: true }));
  const { file } = started.use(await startControlPlane({ assets, directory, name: 'devloop-verify' }, io));
  const select = () => loadKubeconfig({ kubeconfig: file }, {}, directory);
  await using api = await connect(await select());
  await installCrds(api, checkout, io);
  const owned = started.move();
  return { select, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
/** Installs the CRDs of the checkout's manifests. Conversions would call a webhook that is not there, so they are left out. */
async function installCrds(api: ClusterApi, checkout: string, { emit, signal }: Io): Promise<void> {
  for (const { spec, ...definition } of await definitionsIn(checkout)) {
    const { conversion: _, ...kept } = spec;
    await api.call('POST', CRDS, { ...definition, spec: kept }).catch((error) => {
      // Manifests for several ways to install the operator contain the same CRD several times.
      if (isConflict(error)) return;
      const cause = messageOf(error);
      emit(notice('verify.crd-not-installed', { crd: definition.metadata.name, cause }));
    });
  }
  const isServed = async (): Promise<boolean> => {
    const { items } = await api.call<{ items: Definition[] }>('GET', CRDS);
    return items.every(isEstablished);
  };
  await pollUntil(isServed, { everyMs: 100, limitMs: ESTABLISHED_MS, signal });
}

function isEstablished({ status }: Definition): boolean {
  return (status?.conditions ?? []).some((one) => one.type === 'Established' && one.status === 'True');
}
