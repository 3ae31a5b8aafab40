import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PAUSE_IMAGE } from './build.ts';
import type { Network } from './network.ts';

/** The socket of the container runtime inside the box, which has its own /run. */
export const RUNTIME_SOCKET = '/run/containerd.sock';

/** Writes the configuration files of everything that runs Pods. */
export async function writeNodeConfig(
  dir: string,
  cgroup: string,
  cniPlugins: string,
  network: Network,
): Promise<void> {
  await mkdir(join(dir, 'cni'), { recursive: true });
  await Promise.all([
    writeFile(join(dir, 'containerd.toml'), containerd(dir, cniPlugins)),
    writeFile(join(dir, 'cni/bridge.conflist'), JSON.stringify(bridge(network))),
    // No DNS server answers there: Pods of the tests use the addresses of Services, or no Services at all.
    writeFile(join(dir, 'resolv.conf'), 'nameserver 192.0.2.53\n'),
    writeFile(join(dir, 'kubelet.json'), JSON.stringify(kubelet(dir, cgroup, network))),
    writeFile(join(dir, 'kube-proxy.json'), JSON.stringify(kubeProxy(dir, network))),
  ]);
}

const UNUSED_PLUGINS = [
  ...['aufs', 'btrfs', 'devmapper', 'zfs'].map((name) => `snapshotter.v1.${name}`),
  ...['tracing.processor.v1.otlp', 'internal.v1.tracing'],
];

/** The configuration of a container runtime that keeps images, and also runs Pods unless `without` names the plugin for them. */
export function runtimeConfig(dir: string, ...without: string[]): string {
  const disabled = [...UNUSED_PLUGINS, ...without].map((name) => `io.containerd.${name}`);
  return `
version = 2
root = "${dir}/containerd"
state = "/run/containerd"
disabled_plugins = ${JSON.stringify(disabled)}
[grpc]
  address = "${RUNTIME_SOCKET}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${dir}/containerd-opt"
`;
}

function containerd(dir: string, cniPlugins: string): string {
  return `${runtimeConfig(dir)}[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cniPlugins}"
    conf_dir = "${dir}/cni"
`;
}

function bridge({ podRanges }: Network): object {
  const ranges = podRanges.map((subnet) => [{ subnet }]);
  const ipam = { type: 'host-local', dataDir: '/run/cni-addresses', ranges };
  return {
    cniVersion: '0.4.0',
    name: 'devloop',
    plugins: [
      { type: 'bridge', bridge: 'cni0', isDefaultGateway: true, ipMasq: false, hairpinMode: true, ipam },
    ],
  };
}

function kubelet(dir: string, cgroup: string, { dns }: Network): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: false }, x509: { clientCAFile: `${dir}/pki/ca.crt` } },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${RUNTIME_SOCKET}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    // Since 1.36, the kubelet refuses a machine with cgroup v1 unless this is set.
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    podLogsDir: `${dir}/logs/pods`,
    resolvConf: `${dir}/resolv.conf`,
    // Without one, each Pod gets a MissingClusterDNS warning.
    clusterDNS: dns,
    clusterDomain: 'cluster.local',
    // Images cannot be pulled again, and the disk belongs to the developer.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '1%',
      'imagefs.available': '1%',
    },
    volumePluginDir: `${dir}/kubelet/volume-plugins`,
  };
}

function kubeProxy(dir: string, { any, podRanges }: Network): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    nftables: { minSyncPeriod: '0s' },
    clientConnection: { kubeconfig: `${dir}/pki/proxy.kubeconfig` },
    hostnameOverride: 'node',
    bindAddress: any,
    clusterCIDR: podRanges.join(','),
    // Limits for connection tracking apply to the whole machine; zero leaves them unchanged.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    nodePortAddresses: ['127.0.0.0/8'],
  };
}
