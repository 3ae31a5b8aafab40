import { dirname } from 'node:path';
import { type ClusterApi, connect } from '../../cluster/api/client.ts';
import { loadKubeconfig } from '../../cluster/api/kubeconfig.ts';
import { NAMESPACE } from '../../config/forms.ts';
import { type Config, loadConfig } from '../../config/load.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { type CheckoutFacts, noCheckoutFacts, readCheckout } from '../../operator/sources.ts';
import { shellWord, withNames } from '../../phrases.ts';
import { checkoutRoot, isCheckout, SIGNS_OF_A_CHECKOUT } from './checkout.ts';
import type { CommonOptions, Io } from './options.ts';

/** What every command needs: the merged settings of flags, environment and devloop.yaml, and the cluster. */
export interface CommandContext extends AsyncDisposable {
  api: ClusterApi;
  config: Config;
  /** The checkout's root: the directory with devloop.yaml, go.mod or .git. */
  root: string;
  /** The directory in which devloop was started. */
  cwd: string;
  wanted: { services: string[]; deployment?: string | undefined; namespace?: string | undefined };
  /** The kubeconfig's current context, if devloop.yaml names another one, and nothing else does. */
  insteadOf?: string | undefined;
  /** The file with the settings, if there is one. */
  settingsFile?: string | undefined;
}

/** The namespace in the environment. Throws 'usage.invalid' if the variable contains something else. */
export function namespaceFrom({ DEVLOOP_NAMESPACE: name }: Io['env']): string | undefined {
  if (!name) return undefined;
  if (NAMESPACE.fits(name)) return name;
  throw new DevloopError('usage.invalid', `DEVLOOP_NAMESPACE is '${name}'. Expected ${NAMESPACE.expected}.`, {
    hint: "Set it to the operator's namespace, or unset it.",
  });
}

/**
 * Precedence: flags, then environment variables, then devloop.yaml, then discovery. `down` and `status` pass `optional`: they ignore a
 * devloop.yaml with errors, which must not keep anybody from restoring the cluster.
 */
export async function openContext(
  options: CommonOptions,
  io: Io,
  settings: 'required' | 'optional' = 'required',
): Promise<CommandContext> {
  const loaded = await loadConfig(io.cwd).catch((error) => {
    if (settings === 'required' || !(error instanceof DevloopError)) throw error;
    io.emit({ type: 'warning', message: `${error.message}\ndevloop ignores this file.` });
    return undefined;
  });
  const config = loaded?.config ?? {};
  const context = options.context ?? io.env.DEVLOOP_CONTEXT ?? config.context;
  const namespace = options.namespace ?? namespaceFrom(io.env) ?? config.namespace;
  const chosen = { context, kubeconfig: options.kubeconfig };
  io.onCluster?.(chosen);
  const selected = await loadKubeconfig(chosen, io.env, io.cwd);
  if (loaded && settings === 'required') requireAllowed(selected.context, loaded);
  const api = await connect(selected, {
    onLine: (message) => io.emit({ type: 'note', message }),
    ...(io.terminal ? { terminal: io.terminal } : {}),
  });
  const source = contextSource(options, io, config);
  const isOther = source === SETTINGS && selected.context !== selected.current;
  io.emit({
    type: 'discovered',
    what: 'cluster',
    value: `${api.context} (${api.server})`,
    source,
  });
  if (loaded)
    io.emit({
      type: 'discovered',
      what: 'setting',
      value: loaded.file,
      source: dirname(loaded.file) === io.cwd ? 'in this directory' : 'found in a parent directory',
    });
  return {
    api,
    config,
    root: checkoutRoot(io.cwd),
    cwd: io.cwd,
    wanted: {
      services: options.services.length > 0 ? options.services : [config.service ?? []].flat(),
      deployment: options.deployment ?? config.deployment,
      namespace,
    },
    ...(loaded && { settingsFile: loaded.file }),
    ...(isOther && { insteadOf: selected.current }),
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
    },
  };
}

function contextSource(options: CommonOptions, io: Io, config: Config): string {
  if (options.context !== undefined) return '--context';
  if (io.env.DEVLOOP_CONTEXT !== undefined) return 'DEVLOOP_CONTEXT';
  return config.context === undefined ? 'current context of the kubeconfig' : SETTINGS;
}

const SETTINGS = 'devloop.yaml';

/** Throws 'context.refused' if devloop.yaml does not allow the context. */
function requireAllowed(context: string, { file, config }: { file: string; config: Config }): void {
  const { allowContexts } = config;
  if (allowContexts === undefined || allowContexts.includes(context)) return;
  throw new DevloopError(
    'context.refused',
    `${file} allows only ${withNames('context', allowContexts)} (allowContexts), not ${context}.`,
    { hint: allowContexts.map((one) => `${AGAIN} --context ${shellWord(one)}`).join('\n') },
  );
}

/** Reads the checkout. A directory that is not a checkout is not searched, since it may contain anything. */
export async function checkoutFactsOf({ root, cwd, wanted }: CommandContext): Promise<CheckoutFacts> {
  if (isCheckout(root)) return { ...(await readCheckout(root)), ...(cwd === root ? {} : { startedIn: cwd }) };
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
