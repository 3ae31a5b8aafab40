import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, openApi } from './api.ts';
import { type Box, connectBox, runInBox, startBox } from './box.ts';
import { type ClusterBinaries, ensureClusterBinaries, ensureOldControlPlane } from './build.ts';
import { createCgroup } from './cgroups.ts';
import { writeNodeConfig } from './config.ts';
import { copyStore, IN_BOX, nameImages } from './image-store.ts';
import { type Families, type Network, network } from './network.ts';
import { ensurePrerequisites, type Log } from './prerequisites.ts';
import { awaitMilestones, milestones } from './readiness.ts';
import { run } from './run.ts';
import { claimSlot, recordBox, releaseSlot, type Slot } from './slot.ts';

export interface ClusterOptions {
  /** The version of the control plane. Nodes have the version in go.mod, which is also the default here. */
  kubernetes?: '1.33';
  /** Whether kube-apiserver calls webhooks at their endpoints, past the ClusterIP. Default: false. */
  aggregatorRouting?: boolean;
  /** cert-manager's controller and cainjector. Default: true. */
  certManager?: boolean;
  /** Everything that runs Pods: containerd, kubelet, kube-proxy, scheduler. Default: true. */
  pods?: boolean;
  /** IP families of the box, its Pods and Services. Default: ipv4. */
  families?: Families;
  /** Leave the cluster up when this process ends; `stopCluster(dir)` ends it. Default: false. */
  detached?: boolean;
  /** The name of the context in the kubeconfig. */
  name?: string;
  log?: Log;
}

export interface UserOptions {
  expiresInSeconds?: number;
}

/** Its `Api` calls are made as the administrator. */
export interface TestCluster extends AsyncDisposable, Omit<Api, 'get' | typeof Symbol.dispose> {
  readonly name: string;
  /** A kubeconfig file of the cluster's administrator. */
  readonly kubeconfig: string;
  /** The node's address of the first family. */
  readonly nodeIp: string;
  /** This machine, as the API server sees it: one address of each family, and the first of them. */
  readonly hostIps: readonly string[];
  readonly hostIp: string;
  /** The words before a command that run it in the node's network, where the addresses of Pods and Services can be reached. */
  readonly enter: readonly string[];
  /** The cluster's files, with logs below logs/. Removed together with the cluster. */
  readonly dir: string;
  /** Starts a process, which takes a fifth of a second of processor time. Resolves to stdout; rejects with stderr. */
  kubectl(args: string[], options?: { input?: string; kubeconfig?: string }): Promise<string>;
  /** Creates an image whose entrypoint is the static binary, as /<its name>, and loads it into the node. */
  loadImage(ref: string, binaryPath: string): Promise<void>;
  /** Loads the images of an OCI layout tar into the node. */
  importImage(archive: string): Promise<void>;
  /** A kubeconfig file with a client certificate for this user. */
  kubeconfigFor(user: string, groups?: string[], options?: UserOptions): Promise<string>;
}

/** The store of the images that every box has from its start; see image-store.ts. */
const STORE = process.env.DEVLOOP_TEST_IMAGES;
const apiPort = '6443';
const startSeconds = 120;
const defaultLifetimeSeconds = 30 * 24 * 3600;

/** Starts a real Kubernetes of one node in a box of its own. Boxes can run side by side. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const { log = () => undefined } = options;
  const { cniPlugins } = await ensurePrerequisites(log);
  const binaries = await ensureClusterBinaries({ log });
  const slot = await claimSlot();
  try {
    return await startIn(slot, binaries, cniPlugins, options);
  } catch (error) {
    await releaseSlot(slot.dir);
    throw error;
  }
}

/** Ends the cluster with this `dir`, from any process. */
export const stopCluster = releaseSlot;

async function startIn(
  slot: Slot,
  binaries: ClusterBinaries,
  cniPlugins: string,
  options: ClusterOptions,
): Promise<TestCluster> {
  const { aggregatorRouting = false, certManager = true, pods = true, detached = false } = options;
  const { log = () => undefined } = options;
  const { dir } = slot;
  const net = network(slot.number, options.families ?? 'ipv4');
  const name = options.name ?? `devloop-test-${slot.number}`;
  await Promise.all(['logs', 'pki', 'users'].map((sub) => mkdir(join(dir, sub))));
  await run(binaries.kit, ['pki', join(dir, 'pki'), name, net.nodes[0]!, apiPort]);
  if (pods)
    await Promise.all([
      writeNodeConfig(dir, slot.cgroup, cniPlugins, net),
      createCgroup(slot.cgroup),
      ...(STORE ? [copyStore(STORE, dir)] : []),
    ]);
  const settings = {
    CLUSTER: binaries.cluster,
    CONTROL_PLANE: options.kubernetes ? await ensureOldControlPlane({ log }) : binaries.cluster,
    KIT: binaries.kit,
    PAUSE_IMAGE: binaries.pauseImage,
    CERT_MANAGER_CRDS: binaries.certManagerCrds,
    API_PORT: apiPort,
    ANY_ADDRESS: net.any,
    NODE_IPS: net.nodes.join(','),
    SERVICE_RANGES: net.serviceRanges.join(','),
    AGGREGATOR_ROUTING: String(aggregatorRouting),
    CERT_MANAGER: String(certManager),
    PODS: String(pods),
  };
  const box = await startBox(slot, net, settings, detached);
  await recordBox(dir, box.process, detached);
  await connectBox(slot, net, box);
  const kubeconfig = join(dir, 'pki/admin.kubeconfig');
  const api = await openApi(kubeconfig);
  const signal = AbortSignal.any([box.ended, AbortSignal.timeout(startSeconds * 1000)]);
  await awaitMilestones(milestones({ certManager, pods }), api.get, signal);
  return handle(slot, net, box, binaries, { ...api, name, kubeconfig });
}

function handle(
  { dir }: Slot,
  { nodes, hosts }: Network,
  box: Box,
  binaries: ClusterBinaries,
  own: Api & Pick<TestCluster, 'name' | 'kubeconfig'>,
): TestCluster {
  let released: Promise<void> | undefined;
  const importImage = async (archive: string): Promise<void> => {
    const ctr = (args: string[]) => runInBox(box.process, 'ctr', [...IN_BOX, ...args]);
    if (!STORE || !(await nameImages(STORE, archive, ctr))) await ctr(['images', 'import', archive]);
  };
  return {
    ...own,
    nodeIp: nodes[0]!,
    hostIps: hosts,
    hostIp: hosts[0]!,
    enter: ['nsenter', '--target', String(box.process.pid), '--net'],
    dir,
    kubectl: (args, { input = '', kubeconfig = own.kubeconfig } = {}) =>
      // A person's own kubectl keeps a cache by address, and other clusters get the same addresses later.
      run(binaries.cluster, ['kubectl', ...args], {
        input,
        env: { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(dir, 'kubectl') },
      }),
    async loadImage(ref, binaryPath) {
      const archive = join(dir, `${randomUUID()}.tar`);
      await run(binaries.kit, ['image', ref, binaryPath, archive]);
      await importImage(archive);
      await rm(archive);
    },
    importImage,
    async kubeconfigFor(user, groups = [], { expiresInSeconds = defaultLifetimeSeconds } = {}) {
      const file = join(dir, 'users', `${randomUUID()}.kubeconfig`);
      await run(binaries.kit, [
        'kubeconfig',
        join(dir, 'pki'),
        file,
        `${expiresInSeconds}s`,
        user,
        ...groups,
      ]);
      return file;
    },
    [Symbol.asyncDispose]: () => (released ??= releaseSlot(dir)),
  };
}
