import { cp, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, cachedBefore, hashOf } from './cache.ts';
import { type GoBuild, goBuild } from './go-build.ts';
import type { Log } from './prerequisites.ts';
import { run } from './run.ts';

export interface ClusterBinaries {
  /** Kubernetes, etcd and cert-manager in one binary. Beside it, `etcd`, `kube-apiserver` and `kubectl` are links to it. */
  cluster: string;
  /** Keys, kubeconfigs, images. */
  kit: string;
  /** The sandbox process, and the smallest program a Pod can run. */
  pause: string;
  /** An OCI layout tar. */
  pauseImage: string;
  /** A directory of YAML files. */
  certManagerCrds: string;
  dir: string;
}

export const PAUSE_IMAGE = 'devloop.test/pause:1';

const source = import.meta.dirname;
/** A second module, since one module cannot contain two versions of Kubernetes. Only the tests of `npm run soak` run its control plane. */
const oldSource = join(source, '../cluster-1.33');
const certManager = 'github.com/cert-manager/cert-manager';

/** Builds the control plane, unless this machine has already built it from the same source. */
export async function ensureClusterBinaries({ log }: { log: Log }): Promise<ClusterBinaries> {
  const make = (dir: string): Promise<void> => buildInto(dir, log);
  const dir = await cached('test-cluster', await keyOf(source), make, () => log(OTHER_BUILDS));
  return binariesIn(dir);
}

/** The same for kube-apiserver, kube-controller-manager and kube-scheduler 1.33 in one binary; returns its path. */
export async function ensureOldControlPlane({ log }: { log: Log }): Promise<string> {
  const dir = await cached('test-cluster-1.33', await keyOf(oldSource), async (part) => {
    log('building the control plane of Kubernetes 1.33');
    await compile({ what: 'Kubernetes', cwd: oldSource, out: part, packages: ['./cmd/...'] }, log);
  });
  return join(dir, 'control-plane');
}

/**
 * A directory with etcd and kube-apiserver, as setup-envtest makes one. Builds these two alone, which takes two thirds of the time, unless the
 * whole control plane is there; with `kubectl`, it builds kubectl, too.
 */
export async function ensureApiServer(wanted: { kubectl: boolean; log: Log }): Promise<string> {
  const { kubectl, log } = wanted;
  const key = await keyOf(source);
  const whole = await cachedBefore('test-cluster', key);
  if (whole !== undefined) return whole;
  const packages = ['./cmd/api-server', ...(kubectl ? ['./cmd/kubectl'] : [])];
  const make = async (dir: string): Promise<void> => {
    await compile({ what: 'etcd and kube-apiserver', cwd: source, out: dir, packages }, log);
    await linkTo('api-server', API_SERVER, dir);
  };
  const kind = kubectl ? 'api-server-and-kubectl' : 'api-server';
  return await cached(kind, key, make, () => log(OTHER_BUILDS));
}

const OTHER_BUILDS = 'waiting for another process, which is building the same';
const API_SERVER = ['etcd', 'kube-apiserver'];

async function keyOf(cwd: string): Promise<string> {
  const go = await run('go', ['env', 'GOVERSION', 'GOARCH'], { cwd });
  return await hashOf(cwd, ['go.mod', 'go.sum', '**/*.go'], go);
}

function binariesIn(dir: string): ClusterBinaries {
  return {
    cluster: join(dir, 'cluster'),
    kit: join(dir, 'kit'),
    pause: join(dir, 'pause'),
    pauseImage: join(dir, 'pause.tar'),
    certManagerCrds: join(dir, 'cert-manager-crds'),
    dir,
  };
}

async function buildInto(dir: string, log: Log): Promise<void> {
  log('building the test cluster (minutes the first time, seconds after that)');
  const started = performance.now();
  const packages = ['./cmd/cluster', './cmd/kit', './cmd/pause'];
  await compile({ what: 'Kubernetes', cwd: source, out: dir, packages }, log);
  await linkTo('cluster', [...API_SERVER, 'kubectl'], dir);
  log(`built the test cluster in ${Math.round((performance.now() - started) / 1000)} s`);
  const built = binariesIn(dir);
  await run(built.kit, ['image', PAUSE_IMAGE, built.pause, built.pauseImage]);
  const module = (await run('go', ['list', '-m', '-f', '{{.Dir}}', certManager], { cwd: source })).trim();
  await cp(join(module, 'deploy/crds'), built.certManagerCrds, { recursive: true });
}

async function compile(build: Omit<GoBuild, 'args'>, log: Log): Promise<void> {
  const args = ['-trimpath', '-ldflags', await linkerFlags(build.cwd)];
  await goBuild({ ...build, args, out: `${build.out}/` }, log);
}

async function linkTo(binary: string, names: string[], dir: string): Promise<void> {
  await Promise.all(names.map((name) => symlink(binary, join(dir, name))));
}

/** Without these, the server says that its version is v0.0.0-master, which clients that compare versions consider very old. */
async function linkerFlags(cwd: string): Promise<string> {
  const goMod = await readFile(join(cwd, 'go.mod'), 'utf8');
  const [, version, major, minor] = /k8s\.io\/kubernetes (v(\d+)\.(\d+)\S*)/.exec(goMod) ?? [];
  if (!version) throw new Error(`${join(cwd, 'go.mod')} does not require k8s.io/kubernetes`);
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const set = packages.flatMap((name) =>
    Object.entries(values).map(([key, value]) => `-X ${name}.${key}=${value}`),
  );
  return ['-s', '-w', ...set].join(' ');
}
