import { readFile, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { DEPLOYMENT, NAMESPACE, SERVICE } from '../../test/support/sample-operator.ts';
import { type Devloop, runDevloop, startDevloop } from './devloop.ts';
import { limited, Refusal, type Stage, until, within } from './stage.ts';

const WEBHOOK = 'internal/webhook/v1/application_webhook.go';
const OLD_TEXT = 'an Application needs an image';
/** This differs from OLD_TEXT, so that the first answer from this machine can be told from one of the cluster. */
const HERE_TEXT = 'an Application needs an image, says this machine';
const NEW_TEXT = 'no image? says the code that was just saved';
const GOOD = 'config/samples/apps_v1_application.yaml';
const BAD = 'config/samples/apps_v1_application_bad.yaml';
const NAME = 'application-sample';
const BUILD_SECONDS = 600;
const REPLACE_SECONDS = 180;

/** The same work with an API server of devloop's own, or with an operator that runs in a cluster and is restored. */
export async function tell(stage: Stage): Promise<void> {
  await (stage.cluster.embedded ? tellEmbedded(stage) : tellTakeOver(stage));
}

async function tellEmbedded(stage: Stage): Promise<void> {
  const { narrator } = stage;
  narrator.step('devloop runs the operator, and an API server for it');
  await whileUp(stage, ['up', '--embedded', '--open', '--replay'], async (up) => {
    await devloop(stage, 'env');
    narrator.say('(The demo does what the last line says.)');
    await workOnIt(stage, up, OLD_TEXT);
    narrator.step('Ctrl-C ends it all');
  });

  narrator.step('After: nothing of it runs');
  const list = ['get', 'applications'];
  narrator.command(typed(stage, list));
  narrator.output(
    await kubectl(stage, list).then(
      (output) => Promise.reject(new Refusal(`the API server still answers: ${output}`)),
      ({ message }: Error) => message,
    ),
  );
  await devloop(stage, 'down', '--embedded');
}

async function tellTakeOver(stage: Stage): Promise<void> {
  const { narrator } = stage;
  narrator.step('Before: the operator runs in the cluster');
  const before = await lookAtCluster(stage);
  // The Pod is ready a moment before kube-proxy knows it.
  await until(30, 'an answer of the in-cluster webhook', stage.signal, () => refuses(stage, OLD_TEXT));
  await denied(stage, OLD_TEXT);

  narrator.step('devloop takes over');
  narrator.say(
    '(First the demo changes the code here, so that the answers of this machine differ from those of the image in the cluster.)',
  );
  await editText(stage, OLD_TEXT, HERE_TEXT);
  await whileUp(stage, ['up', '--open', '--replay'], async (up) => {
    await workOnIt(stage, up, HERE_TEXT);
    narrator.step('Everybody can see who has taken over the operator');
    await devloop(stage, 'status', ...stage.cluster.devloop.args);
    narrator.step('Ctrl-C restores everything');
  });

  narrator.step('After: the cluster is as before');
  const after = await lookAtCluster(stage);
  if (after !== before) throw new Refusal(`the cluster is not as before:\n${before}\n${after}`);
  const ended = performance.now();
  await until(30, 'an answer of the in-cluster webhook', stage.signal, () => refuses(stage, OLD_TEXT));
  const ms = Math.round(performance.now() - ended);
  if (ms > 500) narrator.say(`(The in-cluster webhook answered after ${ms} ms.)`);
  await denied(stage, OLD_TEXT);
  await show(stage, ['delete', '-f', GOOD, '--timeout=60s']);
}

/** Runs devloop up, and ends it with Ctrl-C. */
async function whileUp(stage: Stage, args: string[], work: (up: Devloop) => Promise<void>): Promise<void> {
  const { narrator, signal } = stage;
  narrator.command(['devloop', ...args].join(' '));
  narrator.say("(The demo leaves out the controller's own log, which devloop also prints.)");
  await using up = startDevloop(args, stage);
  await up.next('session.ready', BUILD_SECONDS);
  await work(up);
  narrator.say('(Ctrl-C)');
  const code = await limited(200, 'the end of devloop up', signal, up.interrupt());
  if (code !== 130) throw new Refusal(`devloop up ended with ${code} instead of 130`);
}

/** `text` is what the code of the checkout answers. */
async function workOnIt(stage: Stage, up: Devloop, text: string): Promise<void> {
  const { narrator } = stage;
  const deniedHere = async (reason: string): Promise<void> => {
    const printed = up.next('review', 10, ({ verdict }) => verdict === 'denied');
    await Promise.all([denied(stage, reason), printed]);
  };
  narrator.step('kube-apiserver calls the webhooks on this machine');
  if (!stage.cluster.embedded) await noPods(stage);
  await deniedHere(text);

  narrator.step('The controller on this machine reconciles');
  await show(stage, ['apply', '-f', GOOD]);
  await deploymentHas(stage, '1');
  await show(stage, ['patch', 'application', NAME, '--type', 'merge', '-p', '{"spec":{"replicas":3}}']);
  await deploymentHas(stage, '3');

  narrator.step('Every review was recorded');
  await devloop(stage, 'reviews', 'list');

  narrator.step('Edit and save: the recorded reviews are sent again, and the new code answers the next one');
  const compared = up.next('reviews.compared', REPLACE_SECONDS);
  compared.catch(() => {});
  await editText(stage, text, NEW_TEXT);
  const { changed } = await compared;
  if (changed === 0) throw new Refusal('no answer changed with the edit');
  await deniedHere(NEW_TEXT);
}

/** Of the manager in the cluster. A Pod that has ended is still listed for a moment. */
async function noPods(stage: Stage): Promise<void> {
  const pods = ['-n', NAMESPACE, 'get', 'pods', '-o', 'name'];
  const isGone = async (): Promise<boolean> => (await kubectl(stage, pods)) === '';
  await until(60, 'the end of the in-cluster manager', stage.signal, isGone);
  await show(stage, pods);
}

/** Runs a command of devloop that must succeed, and shows its output. */
async function devloop(stage: Stage, ...args: string[]): Promise<void> {
  const shown = ['devloop', ...args].join(' ');
  stage.narrator.command(shown);
  if ((await runDevloop(args, stage)) !== 0) throw new Refusal(`${shown} failed`);
}

/** What the take-over changes. */
async function lookAtCluster(stage: Stage): Promise<string> {
  const selector = await show(stage, [
    '-n',
    NAMESPACE,
    'get',
    'service',
    SERVICE,
    '-o',
    'jsonpath={.spec.selector}',
  ]);
  const replicas = await show(stage, [
    '-n',
    NAMESPACE,
    'get',
    'deployment',
    DEPLOYMENT,
    '-o',
    'jsonpath={.spec.replicas}',
  ]);
  return `${selector} ${replicas}`;
}

async function refuses(stage: Stage, text: string): Promise<boolean> {
  return (await answerToBad(stage)).includes(text);
}

async function answerToBad(stage: Stage): Promise<string> {
  return await kubectl(stage, ['apply', '-f', BAD]).catch((error: Error) => error.message);
}

async function denied(stage: Stage, text: string): Promise<void> {
  stage.narrator.command(typed(stage, ['apply', '-f', BAD]));
  const answer = await answerToBad(stage);
  stage.narrator.output(answer.replaceAll(`${stage.checkout}/`, ''));
  if (!answer.includes(text)) throw new Refusal(`expected the answer to contain: ${text}`);
}

async function deploymentHas(stage: Stage, replicas: string): Promise<void> {
  const args = ['get', 'deployment', NAME, '-o', 'jsonpath={.spec.replicas}'];
  const holds = async (): Promise<boolean> => (await kubectl(stage, args)) === replicas;
  await until(60, `a Deployment ${NAME} with ${replicas} replicas`, stage.signal, holds);
  await show(stage, [
    'get',
    'deployment',
    NAME,
    '-o',
    'custom-columns=NAME:.metadata.name,REPLICAS:.spec.replicas,OWNER:.metadata.ownerReferences[0].kind',
  ]);
}

async function editText({ checkout, narrator }: Stage, from: string, to: string): Promise<void> {
  const file = join(checkout, WEBHOOK);
  const source = await readFile(file, 'utf8');
  if (!source.includes(from)) throw new Refusal(`${WEBHOOK} does not contain: ${from}`);
  narrator.say(`${WEBHOOK}:`);
  narrator.output(`-const imageRequired = "${from}"\n+const imageRequired = "${to}"`);
  await writeFile(file, source.replace(from, to));
}

/** Runs a command that must succeed, and shows its output. */
async function show(stage: Stage, args: string[]): Promise<string> {
  stage.narrator.command(typed(stage, args));
  const output = await kubectl(stage, args);
  stage.narrator.output(output || '(no output)');
  return output;
}

async function kubectl({ cluster, checkout, signal }: Stage, args: string[]): Promise<string> {
  const absolute = args.map((arg) =>
    arg.startsWith('config/') && !isAbsolute(arg) ? join(checkout, arg) : arg,
  );
  return await within(90, `kubectl ${args.join(' ')}`, signal, cluster.kubectl(absolute));
}

function typed({ cluster }: Stage, args: string[]): string {
  const words = args.map((arg) => arg.replace(/[^=]*[{}[\]"].*/, "'$&'"));
  return [cluster.kubectlName, ...words].join(' ');
}
