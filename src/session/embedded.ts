import { createHash } from 'node:crypto';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '../cluster/api/client.ts';
import { loadKubeconfig } from '../cluster/api/kubeconfig.ts';
import { DevloopError } from '../errors.ts';
import { envtestAssets } from '../operator/envtest-assets.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { checkoutRoot } from './context/checkout.ts';
import { thisMachine } from './context/local-machine.ts';
import type { Io, UpOptions } from './context/options.ts';
import { endOrphans, verifyDirectory } from './context/session-directories.ts';
import { startControlPlane } from './embedded/control-plane.ts';
import { listenForEgress } from './embedded/egress.ts';
import { install } from './embedded/install.ts';
import { renderCheckout } from './embedded/render.ts';
import type { Guest } from './running.ts';
import { up } from './up.ts';

/** The ports of embedded API servers. */
const PORTS = { from: 20_000, count: 10_000 };
const CONTEXT = 'devloop-embedded';

/**
 * `up` without a cluster: an API server of this session's own, in which everything is created that the checkout would deploy, is taken over like
 * any cluster. It is gone at the end, so nothing is restored.
 */
export async function upEmbedded(options: UpOptions, io: Io, guest?: Guest): Promise<void> {
  const root = await checkoutRoot(io.cwd);
  const machine = await thisMachine(io.env);
  await endOrphans(machine, io.emit, 'verify');
  const assets = await envtestAssets(root, io.env);
  if (assets === undefined) throw noAssets();
  const rendered = await renderCheckout(root, assets, io);
  await using started = new AsyncDisposableStack();
  const directory = await verifyDirectory(root, io.env);
  started.defer(() => rm(directory, { recursive: true, force: true }));
  const egress = join(directory, 'egress.sock');
  started.use(await listenForEgress(egress));
  const id = createHash('sha256').update(root).digest();
  const port = PORTS.from + (id.readUInt32BE() % PORTS.count);
  const plane = started.use(await startControlPlane({ assets, directory, name: CONTEXT, egress, port }, io));
  // Other names are those of sessions.
  const files = join(machine.stateDirectory, '.embedded');
  const kubeconfig = join(files, `${id.toString('hex').slice(0, 16)}.kubeconfig`);
  await mkdir(files, { recursive: true, mode: 0o700 });
  await copyFile(plane.file, kubeconfig);
  await using api = await connect(await loadKubeconfig({ kubeconfig }, {}, root));
  io.emit({
    type: 'discovered',
    what: 'manifests',
    value: rendered.from,
    source: `for an API server of its own, by ${assets}`,
  });
  await install(api, rendered.objects, io);
  io.emit(notice('embedded.started', { kubeconfig }));
  const given = { ...options.given, context: CONTEXT };
  await up(
    { ...options, given, kubeconfig, embedded: true, yes: true },
    { ...io, emit: quietly(io.emit) },
    guest,
  );
}

/** What is changed in an API server that nobody else uses is of no interest. */
function quietly(emit: Emit): Emit {
  return (event, ...rest) => {
    if (event.type !== 'change') emit(event, ...rest);
  };
}

function noAssets(): DevloopError {
  return new DevloopError(
    'embedded.no-assets',
    "The programs of an API server, etcd and kube-apiserver, are not here: neither in KUBEBUILDER_ASSETS nor in the checkout's bin/k8s.",
    {
      hint: 'make setup-envtest (in older projects: make envtest), or: export KUBEBUILDER_ASSETS="$(setup-envtest use -p path)"',
    },
  );
}
