import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { thisMachine } from '../../src/session/context/local-machine.ts';
import { placeOf } from '../../src/session/embedded/place.ts';
import { ensureApiServer } from '../../test/cluster/build.ts';
import { runKubectl } from './kubectl.ts';
import { filesOnPath } from './on-disk.ts';
import { type DemoCluster, type Stage, within } from './stage.ts';

/** etcd and kube-apiserver, which `devloop up --embedded` starts. */
export async function openEmbedded(wanted: Omit<Stage, 'cluster'>): Promise<DemoCluster> {
  const { checkout, narrator, signal } = wanted;
  narrator.chapter('An API server, compiled from source');
  const isMissing = filesOnPath('kubectl').length === 0;
  const started = performance.now();
  const building = ensureApiServer({ kubectl: isMissing, log: (line) => narrator.say(`  ${line}`) });
  const assets = await within(60 * 60, 'building etcd and kube-apiserver', signal, building);
  narrator.say(
    `  etcd and kube-apiserver are ready after ${((performance.now() - started) / 1000).toFixed(1)} s.`,
  );
  const kubectl = isMissing ? join(assets, 'kubectl') : 'kubectl';
  const { kubeconfig } = placeOf(await thisMachine(process.env), await realpath(checkout));
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  return {
    embedded: true,
    devloop: { args: [], env: { KUBEBUILDER_ASSETS: assets } },
    kubectlName: 'kubectl',
    kubectl: (args) => runKubectl(args, { program: kubectl, env }),
    kept: { checkout, assets, ...(isMissing ? { kubectl } : {}) },
    async [Symbol.asyncDispose]() {},
  };
}
