import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ClusterApi, connect } from '../../cluster/api/client.ts';
import { loadKubeconfig } from '../../cluster/api/kubeconfig.ts';
import { type Config, loadConfig } from '../../config/load.ts';
import { DevloopError } from '../../errors.ts';
import { type CheckoutFacts, noCheckoutFacts, readCheckout } from '../../operator/sources.ts';
import type { CommonOptions, Io } from './options.ts';

/** What a command stands on: the settings after flags, environment and file are merged, and the cluster. */
export interface CommandContext extends AsyncDisposable {
  api: ClusterApi;
  config: Config;
  /** The checkout's root: where devloop.yaml, go.mod or .git lies. */
  root: string;
  wanted: { services: string[]; deployment?: string | undefined; namespace?: string | undefined };
  /** Set when the user chose a context or file, which the controller then has to use too. */
  chosen: { context?: string | undefined; kubeconfig?: string | undefined };
}

/** Flags beat environment beats file beats discovery. Where settings are only helpful, a file with problems is left out: it must not keep anybody from putting things back. */
export async function open(
  options: CommonOptions,
  io: Io,
  settings: 'needed' | 'helpful' = 'needed',
): Promise<CommandContext> {
  const loaded = await loadConfig(io.cwd).catch((error) => {
    if (settings === 'needed' || !(error instanceof DevloopError)) throw error;
    io.emit({ type: 'warning', message: `${error.message}\nIts settings are not used.` });
    return undefined;
  });
  const config = loaded?.config ?? {};
  const context = options.context ?? io.env.DEVLOOP_CONTEXT ?? config.context;
  const namespace = options.namespace ?? io.env.DEVLOOP_NAMESPACE ?? config.namespace;
  const api = await connect(
    await loadKubeconfig({ kubeconfig: options.kubeconfig, context }, io.env, io.cwd),
  );
  io.emit({
    type: 'discovered',
    what: 'cluster',
    value: `${api.context} (${api.server})`,
    source: contextSource(options, io, config),
  });
  if (loaded)
    io.emit({
      type: 'discovered',
      what: 'setting',
      value: loaded.file,
      source: 'found above this directory',
    });
  return {
    api,
    config,
    root: loaded ? dirname(loaded.file) : checkoutRoot(io.cwd),
    wanted: {
      services: options.services.length > 0 ? options.services : listOf(config.service),
      deployment: options.deployment ?? config.deployment,
      namespace,
    },
    chosen: { context, kubeconfig: options.kubeconfig },
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
    },
  };
}

function listOf(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}

function contextSource(options: CommonOptions, io: Io, config: Config): string {
  if (options.context !== undefined) return '--context';
  if (io.env.DEVLOOP_CONTEXT !== undefined) return 'DEVLOOP_CONTEXT';
  return config.context === undefined ? 'current context of the kubeconfig' : 'devloop.yaml';
}

/** The nearest directory upwards with a go.mod, else with a .git, else where we are. */
export function checkoutRoot(cwd: string): string {
  for (const sign of ['go.mod', '.git']) {
    for (let directory = cwd; ; directory = dirname(directory)) {
      if (existsSync(join(directory, sign))) return directory;
      if (dirname(directory) === directory) break;
    }
  }
  return cwd;
}

/** What the checkout tells. A directory that is none is never searched: it may hold anybody's sources. */
export async function checkoutFactsOf({ root, wanted }: CommandContext): Promise<CheckoutFacts> {
  if (SIGNS_OF_A_CHECKOUT.some((sign) => existsSync(join(root, sign)))) return await readCheckout(root);
  if (wanted.services.length === 0 && wanted.deployment === undefined) throw noCheckout(root);
  return noCheckoutFacts();
}

const SIGNS_OF_A_CHECKOUT = ['go.mod', '.git', 'devloop.yaml'];

function noCheckout(root: string): DevloopError {
  return new DevloopError(
    'target.no-operator',
    `${root} is no checkout of an operator: it has no ${SIGNS_OF_A_CHECKOUT.join(', ')}, and no Service or Deployment is named.`,
    { hint: 'Change to your checkout, or name the operator: devloop up --service namespace/name' },
  );
}
