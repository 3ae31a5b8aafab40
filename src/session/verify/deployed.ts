import type { ClusterApi } from '../../cluster/api/client.ts';
import { isForbidden } from '../../cluster/api/errors.ts';
import type { Config } from '../../config/schema.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import { type KeyPairs, mountPointsOf, readKeyPairs } from '../../local/key-pairs.ts';
import { discover } from '../../operator/discover.ts';
import type { CheckoutFacts } from '../../operator/sources.ts';
import type { TargetManager } from '../../operator/target.ts';
import { namespaceFrom } from '../context/context.ts';
import type { Io } from '../context/options.ts';

/** The manager of the checkout as it is deployed in a cluster. */
export interface DeployedManager {
  manager: TargetManager;
  /** The directories in which its container sees the key pairs. */
  keyPairMounts: string[];
}

/**
 * Finds the manager whose arguments, variables and mounted files the manager of `verify` gets. Resolves to undefined if the cluster has only
 * the CRDs, or if the account is not allowed to look: such a manager starts with its own defaults.
 */
export async function deployedManager(
  api: ClusterApi,
  { facts, config }: { facts: CheckoutFacts; config: Config },
  { env, emit }: Pick<Io, 'env' | 'emit'>,
): Promise<DeployedManager | undefined> {
  const { service = [], deployment } = config;
  const namespace = namespaceFrom(env) ?? config.namespace;
  const names = { services: [service].flat(), deployment, namespace };
  try {
    const target = await discover({ api, names, facts, emit });
    if (target.manager === undefined) return undefined;
    // Only where the key pairs are mounted counts: the manager of `verify` gets a pair of its own.
    const pairs = await readKeyPairs({ api, target }, () => {}).catch((): KeyPairs => new Map());
    return { manager: target.manager, keyPairMounts: mountPointsOf(pairs, target.manager) };
  } catch (error) {
    if (!isForbidden(error) && !isNotThere(error)) throw error;
    emit({ type: 'note', message: `${WITHOUT_DEPLOYMENT}\n${messageOf(error).split('\n', 1)[0]}` });
    return undefined;
  }
}

const WITHOUT_DEPLOYMENT =
  'The manager gets no arguments, variables and mounted files of its Deployment, because it was not found there:';

function isNotThere(error: unknown): boolean {
  return error instanceof DevloopError && error.code.startsWith('target.');
}
