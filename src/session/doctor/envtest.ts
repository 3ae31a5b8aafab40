import { join } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import { runTool } from '../../machine/tool.ts';
import { missingAssets } from '../../operator/envtest-assets.ts';
import { isCheckout } from '../context/checkout.ts';
import { type Check, type Finding, NothingToCheck } from './check.ts';

/** What will the operator's own tests run against? `up` does not need to know, but the operator's author does. */
export const envtestCheck: Check = {
  name: 'envtest',
  limitSeconds: 20,
  optional: true,
  async run({ root, io, version }, signal) {
    if (!isCheckout(root)) throw new NothingToCheck(`${root} is not a checkout`);
    const files = ['Makefile', 'go.mod'].map((name) => readTextFile(join(root, name)));
    const [makefile = '', mod = ''] = await Promise.all(files);
    const assets = io.env.KUBEBUILDER_ASSETS;
    return envtestFinding({
      assets: assets ? { path: assets, ...(await inspectAssets(assets, signal)) } : undefined,
      existingCluster: io.env.USE_EXISTING_CLUSTER,
      wanted: envtestVersion(makefile, mod),
      cluster: await version.then(({ gitVersion }) => gitVersion).catch(() => undefined),
    });
  },
};

/**
 * The ENVTEST_K8S_VERSION of a Makefile. kubebuilder's Makefile derives it from the module k8s.io/api, whose v0.36.2 means Kubernetes 1.36;
 * if go.mod replaces that module, the replacement's version counts.
 */
export function envtestVersion(makefile: string, goMod: string): string | undefined {
  const value = /^\s*ENVTEST_K8S_VERSION\s*[:?]?=\s*((?:[^\n]*\\\n)*[^\n]*)/m.exec(makefile)?.[1] ?? '';
  const fixed = /^v?(\d+\.\d+\S*)/.exec(value)?.[1];
  if (fixed !== undefined || !value.includes('k8s.io/api')) return fixed;
  const replaced = /^(?:replace)?\s*k8s\.io\/api(?: v\S+)? => \S+ v0\.(\d+)\./m.exec(goMod);
  const minor = (replaced ?? /^(?:require)?\s*k8s\.io\/api v0\.(\d+)\./m.exec(goMod))?.[1];
  return minor === undefined ? undefined : `1.${minor}`;
}

async function inspectAssets(
  path: string,
  signal: AbortSignal,
): Promise<{ missing: string[]; version: string }> {
  const missing = await missingAssets(path);
  if (missing.includes('kube-apiserver')) return { missing, version: '' };
  const { stdout } = await runTool([join(path, 'kube-apiserver'), '--version'], { signal });
  return { missing, version: /v\d+\.\d+\S*/.exec(stdout)?.[0] ?? '' };
}

export interface Envtest {
  assets: { path: string; missing: string[]; version: string } | undefined;
  /** The value of the variable USE_EXISTING_CLUSTER. */
  existingCluster: string | undefined;
  /** The version that the Makefile asks for. */
  wanted: string | undefined;
  /** The version of the cluster; undefined if the cluster does not answer. */
  cluster: string | undefined;
}

export function envtestFinding({ assets, existingCluster, wanted, cluster }: Envtest): Finding {
  const proof = [
    `KUBEBUILDER_ASSETS=${assets?.path ?? '(not set)'}`,
    ...(assets?.version ? [`kube-apiserver there is ${assets.version}`] : []),
    `USE_EXISTING_CLUSTER=${existingCluster ?? '(not set)'}`,
    ...(wanted ? [`Makefile: ENVTEST_K8S_VERSION ${wanted}`] : []),
    ...(cluster ? [`cluster ${cluster}`] : []),
  ];
  if (existingCluster?.toLowerCase() === 'true') {
    const answer =
      'USE_EXISTING_CLUSTER=true: tests run against the cluster of the kubeconfig instead of envtest';
    return { verdict: 'warn', answer, proof, hint: 'unset USE_EXISTING_CLUSTER' };
  }
  if (assets && assets.missing.length > 0) {
    const answer = `KUBEBUILDER_ASSETS contains no ${assets.missing.join(' and no ')}, so envtest will not start`;
    return { verdict: 'warn', answer, proof, hint: 'make setup-envtest, or: setup-envtest use -p path' };
  }
  const tested = minorOf(assets?.version || wanted);
  const running = minorOf(cluster);
  if (tested !== undefined && running !== undefined && tested !== running) {
    const answer = `tests run against Kubernetes ${tested}, but the cluster runs ${running}`;
    return { verdict: 'warn', answer, proof, hint: `setup-envtest use ${running}.x -p path` };
  }
  if (tested === undefined)
    return {
      verdict: 'unknown',
      answer: 'no setting says which Kubernetes version the tests run against',
      proof,
    };
  return {
    verdict: 'ok',
    answer: `tests run against Kubernetes ${tested}${running ? ', like the cluster' : ''}`,
    proof,
  };
}

/** The minor version: `1.36` of `v1.36.3`. */
function minorOf(version: string | undefined): string | undefined {
  return /(\d+\.\d+)/.exec(version ?? '')?.[1];
}
