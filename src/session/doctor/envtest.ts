import { isCheckout } from '../context/checkout.ts';
import {
  type AssetsFound,
  areOfCheckout,
  findAssets,
  inspectAssets,
  installCommand,
  minorOf,
  setupEnvtest,
  storedVersion,
  wantedVersion,
} from '../context/envtest-assets.ts';
import { type Check, type Finding, NotChecked, NothingToCheck } from './check.ts';

/** What will the operator's own tests, and `up --embedded`, run against? `up` does not need to know, but the operator's author does. */
export const envtestCheck: Check = {
  name: 'envtest',
  limitSeconds: 30,
  optional: true,
  async run({ root, io, version }, signal) {
    if (!isCheckout(root)) throw new NothingToCheck(`${root} is not a checkout`);
    const { directory, problems } = await findAssets(root, io.env);
    const inspected = directory === undefined ? undefined : await inspect(directory, root, signal);
    const broken = inspected && 'problem' in inspected ? [inspected.problem] : [];
    return envtestFinding({
      named: io.env.KUBEBUILDER_ASSETS,
      ...{ directory, problems: [...broken, ...problems], install: await installCommand(root) },
      version: inspected && 'version' in inspected ? inspected.version : undefined,
      existingCluster: io.env.USE_EXISTING_CLUSTER,
      wanted: await wantedVersion(root),
      cluster: await version.then(({ gitVersion }) => gitVersion).catch(() => undefined),
    });
  },
};

/** Nobody has said yet that the checkout is trusted, so its own programs are not run. */
async function inspect(
  directory: string,
  root: string,
  signal: AbortSignal,
): ReturnType<typeof inspectAssets> {
  if (!(await areOfCheckout(directory, root))) return await inspectAssets(directory, signal);
  const version = storedVersion(directory);
  if (version !== undefined) return { version: `${version} (by its directory; not run)` };
  throw new NotChecked(`the programs in ${directory} are the checkout's own, and doctor does not run them`);
}

export interface Envtest extends AssetsFound {
  /** The value of the variable KUBEBUILDER_ASSETS. */
  named: string | undefined;
  /** The version of the programs; undefined if they do not run. */
  version: string | undefined;
  /** The command that installs the programs. */
  install: string;
  /** The value of the variable USE_EXISTING_CLUSTER. */
  existingCluster: string | undefined;
  /** The version that the Makefile asks for. */
  wanted: string | undefined;
  /** The version of the cluster; undefined if the cluster does not answer. */
  cluster: string | undefined;
}

export function envtestFinding(found: Envtest): Finding {
  const { named, directory, problems, version, install, existingCluster, wanted, cluster } = found;
  const proof = [
    `KUBEBUILDER_ASSETS=${named || '(not set)'}`,
    ...(version ? [`kube-apiserver in ${directory} is ${version}`] : []),
    ...problems,
    `USE_EXISTING_CLUSTER=${existingCluster ?? '(not set)'}`,
    ...(wanted ? [`Makefile: ENVTEST_K8S_VERSION ${wanted}`] : []),
    ...(cluster ? [`cluster ${cluster}`] : []),
  ];
  const warn = (answer: string, hint: string): Finding => ({ verdict: 'warn', answer, proof, hint });
  if (existingCluster?.toLowerCase() === 'true')
    return warn(
      'USE_EXISTING_CLUSTER=true: tests run against the cluster of the kubeconfig instead of envtest',
      'unset USE_EXISTING_CLUSTER',
    );
  if (version === undefined) {
    const why = problems[0] ?? 'etcd and kube-apiserver are not installed';
    return warn(`${why}, so neither envtest nor devloop up --embedded starts`, install);
  }
  const tested = minorOf(version);
  const running = minorOf(cluster);
  if (running !== undefined && tested !== running)
    return warn(
      `tests run against Kubernetes ${tested}, but the cluster runs ${running}`,
      setupEnvtest(running),
    );
  const answer = `tests run against Kubernetes ${tested}${running ? ', like the cluster' : ''}`;
  return { verdict: 'ok', answer, proof };
}
