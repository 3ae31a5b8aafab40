import { type CheckoutFacts, noCheckoutFacts } from '../../checkout/facts.ts';
import { Checkout } from '../../checkout/files.ts';
import { type ClusterApi, connect } from '../../cluster/api/client.ts';
import { loadKubeconfig } from '../../cluster/api/kubeconfig.ts';
import type { Settings } from '../../config/merge.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { checkoutFacts } from '../../languages.ts';
import { shellWord, withNames } from '../../phrases.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { checkoutRoot, isCheckout, SIGNS_OF_A_CHECKOUT } from './checkout.ts';
import type { CommonOptions, Io, UpOptions } from './options.ts';
import { discoveredFile, type LoadedSettings, loadSettings } from './settings.ts';

/** What every command needs: the merged settings of flags, environment and devloop.yaml, and the cluster. */
export interface CommandContext extends AsyncDisposable {
  api: ClusterApi;
  settings: Settings;
  /** The checkout's root: see `checkoutRoot`. */
  root: string;
  /** The checkout as this command sees it. */
  checkout: Checkout;
  /** The directory in which devloop was started. */
  cwd: string;
  wanted: { services: string[]; deployment?: string; namespace?: string | undefined };
  /** The kubeconfig's current context, if devloop.yaml names another one, and nothing else does. */
  insteadOf?: string;
  /** The file with the settings, if there is one. */
  settingsFile?: string;
}

/**
 * Loads the settings and connects to the cluster. `optional`: a devloop.yaml with errors is ignored. `embedded`: the API server is
 * this session's own, so devloop.yaml cannot name its context.
 */
export async function openContext(
  options: CommonOptions & Pick<UpOptions, 'embedded'>,
  io: Io,
  needed: 'required' | 'optional' = 'required',
): Promise<CommandContext> {
  const loaded = await loadSettings(options.given, io, needed);
  return await contextWith(loaded, options, io, needed === 'required' && !options.embedded);
}

/** Connects to the cluster that the settings name. `isLimited`: devloop.yaml has to allow the context. */
export async function contextWith(
  { settings, file }: LoadedSettings,
  { kubeconfig }: Pick<CommonOptions, 'kubeconfig'>,
  io: Io,
  isLimited: boolean,
): Promise<CommandContext> {
  const choice = { context: settings.context.value, kubeconfig };
  io.onCluster?.(choice);
  const selected = await loadKubeconfig(choice, io.env, io.cwd);
  if (isLimited) requireAllowed(selected.context, settings, file);
  const api = await connect(selected, {
    onLine: (line) => io.emit(notice('login.output', { line })),
    ...(io.terminal ? { terminal: io.terminal } : {}),
  });
  const source = contextSource(settings);
  const isOther = source === SETTINGS_FILE && selected.context !== selected.current;
  const value = `${api.context} (${api.server})`;
  io.emit({ type: 'discovered', what: 'cluster', value, source });
  if (file !== undefined) io.emit(discoveredFile(file, io.cwd));
  const root = await checkoutRoot(io.cwd);
  return {
    api,
    settings,
    ...{ root, checkout: new Checkout(root) },
    cwd: io.cwd,
    wanted: namesOf(settings),
    ...(file !== undefined && { settingsFile: file }),
    ...(isOther && { insteadOf: selected.current }),
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
    },
  };
}

/** What the settings say about the operator. */
export function namesOf({ service, deployment, namespace }: Settings): CommandContext['wanted'] {
  return { services: service.value ?? [], deployment: deployment.value, namespace: namespace.value };
}

function contextSource({ context: { from } }: Settings): string {
  const [place] = from;
  switch (place) {
    case 'flag':
      return '--context';
    case 'environment':
      return 'DEVLOOP_CONTEXT';
    case 'devloop.yaml':
      return SETTINGS_FILE;
    case 'default':
      return 'current context of the kubeconfig';
  }
}

const SETTINGS_FILE = 'devloop.yaml';

/** Throws 'context.refused' if devloop.yaml does not allow the context. */
function requireAllowed(context: string, settings: Settings, file: string | undefined): void {
  const { value: allowContexts } = settings.allowContexts;
  if (allowContexts === undefined || allowContexts.includes(context)) return;
  throw new DevloopError(
    'context.refused',
    `${file} allows only ${withNames('context', allowContexts)} (allowContexts), not ${context}.`,
    { hint: allowContexts.map((one) => `${AGAIN} --context ${shellWord(one)}`).join('\n') },
  );
}

/** Reads the checkout. A directory that is not a checkout is not searched, since it may contain anything. */
export async function checkoutFactsOf({
  root,
  checkout,
  cwd,
  wanted,
}: CommandContext): Promise<CheckoutFacts> {
  if (isCheckout(root))
    return { ...(await checkoutFacts(checkout)), ...(cwd === root ? {} : { startedIn: cwd }) };
  if (wanted.services.length === 0 && wanted.deployment === undefined) throw noCheckout(root);
  return noCheckoutFacts();
}

function noCheckout(root: string): DevloopError {
  return new DevloopError(
    'target.no-operator',
    `${root} is not an operator's checkout: it contains none of ${SIGNS_OF_A_CHECKOUT.join(', ')}. No Service or Deployment was named either.`,
    { hint: `cd to your checkout, or name the operator: ${AGAIN} --service NAMESPACE/NAME` },
  );
}
