import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { connect } from '../cluster/api/client.ts';
import { EMBEDDED_CONTEXT } from '../cluster/api/errors.ts';
import { loadKubeconfig } from '../cluster/api/kubeconfig.ts';
import { loadConfig } from '../config/load.ts';
import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { checkoutRoot } from './context/checkout.ts';
import { findAssets, inspectAssets, installCommand } from './context/envtest-assets.ts';
import { thisMachine } from './context/local-machine.ts';
import type { Io, UpOptions } from './context/options.ts';
import { keepingWarnings } from './context/page-warnings.ts';
import { readyAgain } from './embedded/again.ts';
import { untilBootstrapped } from './embedded/bootstrapped.ts';
import { CheckoutManifests } from './embedded/checkout-manifests.ts';
import { type ControlPlane, startControlPlane } from './embedded/control-plane.ts';
import { listenForEgress } from './embedded/egress.ts';
import { type Following, followCheckout } from './embedded/follow.ts';
import { install } from './embedded/install.ts';
import { openKept } from './embedded/kept.ts';
import { createPodsNotice } from './embedded/no-pods.ts';
import { claimPlace } from './embedded/place.ts';
import { projectRoot } from './embedded/source.ts';
import type { Guest } from './running.ts';
import { up } from './up.ts';

/**
 * `up` without a cluster: an API server of this session's own, in which everything is created that the checkout would deploy, is taken over like
 * any cluster. It is gone at the end, so nothing is restored; with `keep`, its data stays for the next one.
 */
export async function upEmbedded(options: UpOptions, terminal: Io, guest?: Guest): Promise<void> {
  const io = keepingWarnings(terminal);
  const root = await checkoutRoot(io.cwd);
  await using started = new AsyncDisposableStack();
  const place = await claimPlace(await thisMachine(io.env), root, io.emit);
  const { running, egress, kubeconfig, port } = place;
  started.defer(() => rm(running, { recursive: true, force: true }));
  started.use(await listenForEgress(egress));
  const assets = await requireAssets(root, io);
  const kept = options.keep ? await openKept(place.kept, await versionOf(root, assets, io)) : undefined;
  const wanted = { assets, directory: running, name: EMBEDDED_CONTEXT, egress, port, kept };
  // It takes the longest, so it starts before the manifests are rendered.
  const starting = begin(wanted, io, started).catch(async (error: unknown) => {
    if (!(error instanceof DevloopError)) throw error;
    await versionOf(root, assets, io);
    throw error;
  });
  starting.catch(() => {});
  const generate = (await loadConfig(io.cwd))?.config.controller?.generate;
  const project = await projectRoot(io.cwd, root);
  const manifests = await CheckoutManifests.of({ root: project, assets, scratch: running, generate }, io);
  const rendered = await manifests.first();
  const plane = await starting;
  await mkdir(dirname(kubeconfig), { recursive: true, mode: 0o700 });
  await copyFile(plane.file, kubeconfig);
  const source = `for an API server of its own, by ${assets}`;
  io.emit({ type: 'discovered', what: 'manifests', value: rendered.from, source });
  let failure: DevloopError | undefined;
  const ended = plane.ended.then((error) => (failure = error));
  try {
    await using api = await connect(await loadKubeconfig({ kubeconfig }, {}, root));
    if (kept?.isOld) await readyAgain(api, rendered.objects, io.signal);
    const installation = await install(api, rendered.objects, io);
    const ready = untilBootstrapped(api, rendered.objects, io);
    io.emit(notice('embedded.started', { kubeconfig }));
    if (kept) io.emit(notice('embedded.kept', { directory: place.kept, isNew: !kept.isOld }));
    const given = { ...options.given, context: EMBEDDED_CONTEXT };
    const serveOnly = (services: string[]) => installation.serveOnly(services);
    const own = { ...options, given, kubeconfig, embedded: { ended, ready, serveOnly }, yes: true };
    // With a guest, nothing that is saved counts, so that everything is about one build.
    await using following = guest
      ? undefined
      : await followCheckout({ root: project, manifests, rendered, installation }, io);
    await up(own, { ...io, emit: quietly(io.emit, following) }, guest);
  } catch (error) {
    // Without its API server, everything else fails, too.
    throw failure ?? error;
  }
}

/** What is changed in an API server that nobody else uses is of no interest. */
function quietly(emit: Emit, following: Following | undefined): Emit {
  const noticePods = createPodsNotice(emit);
  return (event, ...rest) => {
    following?.observe(event);
    if (event.type !== 'change') emit(event, ...rest);
    noticePods(event);
  };
}

/** Starts the API server, which ends with `started`, even while it starts. */
async function begin(
  wanted: Parameters<typeof startControlPlane>[0],
  io: Io,
  started: AsyncDisposableStack,
): Promise<ControlPlane> {
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  const starting = startControlPlane(wanted, { ...io, signal });
  started.defer(async () => {
    ending.abort();
    const plane = await starting.catch(() => undefined);
    await plane?.[Symbol.asyncDispose]();
  });
  return await starting;
}

/** The directory of etcd and kube-apiserver. Throws 'embedded.no-assets'. */
async function requireAssets(root: string, { env }: Io): Promise<string> {
  const { directory, problems } = await findAssets(root, env);
  if (directory === undefined) throw await noAssets(root, env, problems[0]);
  return directory;
}

/** The version of kube-apiserver. Throws 'embedded.no-assets' if the programs cannot print theirs. */
async function versionOf(root: string, assets: string, { env, signal }: Io): Promise<string> {
  const inspected = await inspectAssets(assets, signal);
  if ('problem' in inspected) throw await noAssets(root, env, inspected.problem);
  return inspected.version;
}

async function noAssets(root: string, env: Io['env'], problem: string | undefined): Promise<DevloopError> {
  const nowhere =
    "The programs of an API server, etcd and kube-apiserver, are not here: neither in KUBEBUILDER_ASSETS nor in the checkout's bin/k8s nor where setup-envtest installs them.";
  const message = problem === undefined ? nowhere : `The API server cannot be started: ${problem}.`;
  const install = await installCommand(root);
  const hint = env.KUBEBUILDER_ASSETS ? `unset KUBEBUILDER_ASSETS\nOr: ${install}` : install;
  return new DevloopError('embedded.no-assets', message, { hint });
}
