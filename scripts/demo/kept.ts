import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { shellWord } from '../../src/phrases.ts';
import { thisMachine } from '../../src/session/context/local-machine.ts';
import { localSessions } from '../../src/session/context/local-sessions.ts';
import { placeOf } from '../../src/session/embedded/place.ts';
import { stopCluster } from '../../test/cluster/cluster.ts';
import { type Kept, Refusal } from './stage.ts';

const ROOT = join(import.meta.dirname, '../..');
const file = join(process.env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'kube-devloop', 'demo.json');

export async function remember(one: Kept): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(one));
}

export async function forget(): Promise<void> {
  await rm(file, { force: true });
}

export async function kept(): Promise<Kept | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Kept);
}

/** Throws `Refusal` while a session runs in the checkout: it would lose its cluster, and could not restore the operator. */
export async function stopKept(): Promise<string> {
  const one = await kept();
  if (one === undefined) return 'There is no kept demo.';
  if (await hasSession(one))
    throw new Refusal(
      `devloop up still runs in ${one.checkout}. End it with Ctrl-C, then stop the demo again.`,
    );
  if (one.clusterDirectory !== undefined) await stopCluster(one.clusterDirectory);
  await removeCheckout(one.checkout);
  await forget();
  if (one.clusterDirectory !== undefined) return 'The cluster is stopped and the checkout removed.';
  return `The checkout is removed.${undeploying(one)}`;
}

/**
 * Forgets a kept demo of which nothing is left on this machine, such as one in /tmp after a restart. Returns what to say about that;
 * undefined if something is left.
 */
export async function forgetGone(one: Kept): Promise<string | undefined> {
  const places = [one.checkout, ...(one.clusterDirectory === undefined ? [] : [one.clusterDirectory])];
  if (places.some((place) => existsSync(place)) || (await hasSession(one))) return undefined;
  await removeCheckout(one.checkout);
  await forget();
  return `The demo that was kept in ${one.checkout} is gone, so it is forgotten.${undeploying(one)}`;
}

async function hasSession(one: Kept): Promise<boolean> {
  const sessions = await localSessions(await thisMachine(process.env));
  return sessions.some(({ checkout }) => checkout === one.checkout);
}

function undeploying({ context }: Kept): string {
  const sample = join(ROOT, 'examples/application-operator');
  return context === undefined
    ? ''
    : ` To remove the sample operator from your cluster: make -C ${shellWord(sample)} undeploy`;
}

/** With what `devloop up --embedded` has kept of it. */
export async function removeCheckout(checkout: string): Promise<void> {
  // What was kept in a directory for temporary files is gone after a restart of the machine.
  const path = await realpath(checkout).catch(() => checkout);
  const { kubeconfig, kept: data } = placeOf(await thisMachine(process.env), path);
  for (const one of [kubeconfig, data, checkout]) await rm(one, { recursive: true, force: true });
}

/**
 * Commands to type, in any directory, on a machine with nothing but the clone. devloop is an alias, because the commands that it suggests
 * itself begin with this name.
 */
export function keepHints({ checkout, assets, kubeconfig, context, kubectl }: Kept): string {
  const option = context === undefined ? '' : ` --context ${shellWord(context)}`;
  const alias = (name: string, command: string): string => `  alias ${name}=${shellWord(command)}`;
  return [
    '',
    `  export CGO_ENABLED=0 GOFLAGS=${shellWord(process.env.GOFLAGS ?? '')}    # as the demo did: with other values, Go compiles every package again, which takes minutes`,
    ...(assets === undefined ? [] : [`  export KUBEBUILDER_ASSETS=${shellWord(assets)}`]),
    ...(kubeconfig === undefined ? [] : [`  export KUBECONFIG=${shellWord(kubeconfig)}`]),
    ...(kubectl === undefined ? [] : [alias('kubectl', shellWord(kubectl))]),
    alias('devloop', shellWord(join(ROOT, 'bin/devloop.js'))),
    `  cd ${shellWord(checkout)}`,
    ...(assets === undefined
      ? [`  devloop up --yes${option}`, '', '  (add --route relay to receive the reviews through a Pod)']
      : ['  devloop up --embedded']),
    '',
    'In a second terminal, with the same settings:',
    '',
    ...(assets === undefined ? [] : ['  eval "$(devloop env)"']),
    `  kubectl${option} apply -f config/samples/apps_v1_application_bad.yaml`,
    `  kubectl${option} apply -f config/samples/apps_v1_application.yaml`,
    `  kubectl${option} get app -o wide`,
    '',
    'To try it: change the text of imageRequired in internal/webhook/v1/application_webhook.go (the demo has left its own there), save, and apply again.',
    `To end it: npm --prefix ${shellWord(ROOT)} run demo -- --stop`,
  ].join('\n');
}

/** After a failure, somebody wants to look at what is there. */
export function keptAnyway(one: Kept): string {
  return `The demo has failed, and is kept anyway, because of --keep. In the terminal with the settings below, \`devloop status\` shows whether a session is left, and \`devloop down\` ends it.\n${keepHints(one)}`;
}
