import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DEPLOYMENT, NAMESPACE } from '../../test/support/sample-operator.ts';
import { runKubectl } from './kubectl.ts';
import { type DemoCluster, Refusal, type Stage, within } from './stage.ts';

type Wanted = Omit<Stage, 'cluster'> & { keep: boolean; context: string };

const IMAGE = 'application-operator:dev';
/** The sample's own image exists only on the nodes of the test cluster. */
const PAUSE = 'registry.k8s.io/pause:3.10';
const execute = promisify(execFile);

/** A cluster of the user's. The sample operator is used as it is deployed there, or deployed if its image can be loaded. */
export async function openContext(wanted: Wanted): Promise<DemoCluster> {
  const { context, checkout, narrator, signal, keep } = wanted;
  const kubectl = (args: string[]): Promise<string> => runKubectl(['--context', context, ...args]);
  narrator.chapter(`The cluster of context ${context}`);
  await kubectl(['version', '--request-timeout=20s']).catch((error: Error) => {
    throw new Refusal(`The cluster of context ${context} does not answer:\n${error.message}`);
  });
  await requireCertManager(context, kubectl);
  const deployed = !(await exists(kubectl, ['-n', NAMESPACE, 'get', 'deployment', DEPLOYMENT]));
  if (deployed) await within(1200, 'deploying the sample operator', signal, deploy(wanted, kubectl));
  else narrator.say('  The sample operator is already deployed there; the demo uses it as it is.');
  const sample = join(checkout, 'config/samples/apps_v1_application.yaml');
  await writeFile(sample, (await readFile(sample, 'utf8')).replace(/^( {2}image: ).*$/m, `$1${PAUSE}`));
  return {
    embedded: false,
    devloop: { args: ['--context', context], env: {} },
    kubectlName: `kubectl --context ${context}`,
    kubectl,
    kept: { checkout, context },
    async [Symbol.asyncDispose]() {
      const remove = (what: string): Promise<string> =>
        kubectl(['delete', '--ignore-not-found', '--timeout=60s', '-f', what]);
      // While the operator runs, because it has to remove its finalizer.
      await remove(sample).catch((error: Error) => narrator.say(error.message));
      if (!deployed || (keep && !signal.aborted)) return;
      narrator.say('Removing the sample operator from your cluster.');
      await kubectl([
        'delete',
        '--ignore-not-found',
        '--timeout=120s',
        '-k',
        join(checkout, 'config/default'),
      ]);
    },
  };
}

type Kubectl = DemoCluster['kubectl'];

async function exists(kubectl: Kubectl, args: string[]): Promise<boolean> {
  return await kubectl(args).then(
    () => true,
    (error: Error) => {
      if (/NotFound|not found/.test(error.message)) return false;
      throw error;
    },
  );
}

async function requireCertManager(context: string, kubectl: Kubectl): Promise<void> {
  if (await exists(kubectl, ['get', 'customresourcedefinition', 'certificates.cert-manager.io'])) return;
  throw new Refusal(`The sample operator needs cert-manager, which this cluster does not have. Install it and wait until it is ready:
  kubectl --context ${context} apply -f https://github.com/cert-manager/cert-manager/releases/latest/download/cert-manager.yaml
  kubectl --context ${context} -n cert-manager rollout status deployment/cert-manager-webhook`);
}

async function deploy({ context, checkout, narrator }: Wanted, kubectl: Kubectl): Promise<void> {
  const load = await loader(context);
  if (load === undefined) {
    throw new Refusal(`The sample operator is not deployed in this cluster. Without a registry, the demo can load its image only into kind, minikube and k3d
(with that tool and docker on the PATH). Push the image to a registry that your cluster can pull from, and deploy it:
  cd examples/application-operator
  make docker-build IMG=REGISTRY/application-operator:dev
  docker push REGISTRY/application-operator:dev
  (in config/manager/kustomization.yaml: newName: REGISTRY/application-operator)
  kubectl --context ${context} apply --server-side -k config/default
  kubectl --context ${context} -n ${NAMESPACE} rollout status deployment/${DEPLOYMENT}
Then run the demo again.`);
  }
  for (const [program = '', ...args] of [['docker', 'build', '--tag', IMAGE, checkout], load]) {
    narrator.command([program, ...args].join(' '));
    await execute(program, args, { maxBuffer: 1 << 26 });
  }
  await kubectl(['apply', '--server-side', '-k', join(checkout, 'config/default')]);
  // A Pod that starts before its Secret exists waits a long time for it, so the Certificate comes first.
  await kubectl([
    '-n',
    NAMESPACE,
    'wait',
    '--for=condition=Ready',
    'certificate/application-operator-serving-cert',
    '--timeout=120s',
  ]);
  await kubectl(['-n', NAMESPACE, 'rollout', 'status', `deployment/${DEPLOYMENT}`, '--timeout=180s']);
}

/** The command that loads the image into the nodes; undefined if there is none. */
async function loader(context: string): Promise<string[] | undefined> {
  const ways: [prefix: RegExp, command: string[]][] = [
    [/^kind-(.+)$/, ['kind', 'load', 'docker-image', IMAGE, '--name']],
    [/^k3d-(.+)$/, ['k3d', 'image', 'import', IMAGE, '--cluster']],
    [/^(minikube.*)$/, ['minikube', 'image', 'load', IMAGE, '--profile']],
  ];
  for (const [prefix, command] of ways) {
    const name = prefix.exec(context)?.[1];
    if (name === undefined) continue;
    const present = await Promise.all(['docker', command[0]!].map(isInstalled));
    return present.every(Boolean) ? [...command, name] : undefined;
  }
  return undefined;
}

function isInstalled(program: string): Promise<boolean> {
  return execute(program, ['version']).then(
    () => true,
    () => false,
  );
}
