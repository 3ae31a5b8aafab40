import type { CheckoutFacts } from '../../checkout/facts.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { isForbidden } from '../../cluster/api/errors.ts';
import type { Settings } from '../../config/merge.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import { type KeyPairs, mountPointsOf, readKeyPairs } from '../../local/key-pairs.ts';
import { discover } from '../../operator/discover.ts';
import type { TargetManager } from '../../operator/target.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { namesOf } from '../context/context.ts';
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
  { facts, settings }: { facts: CheckoutFacts; settings: Settings },
  { emit }: Pick<Io, 'emit'>,
): Promise<DeployedManager | undefined> {
  const names = namesOf(settings);
  try {
    const target = await discover({ api, names, facts, emit });
    if (target.manager === undefined) return undefined;
    // Only where the key pairs are mounted counts: the manager of `verify` gets a pair of its own.
    const pairs = await readKeyPairs({ api, target }, () => {}).catch((): KeyPairs => new Map());
    return { manager: target.manager, keyPairMounts: mountPointsOf(pairs, target.manager) };
  } catch (error) {
    if (!isForbidden(error) && !isNotThere(error)) throw error;
    emit(notice('verify.not-deployed', { cause: messageOf(error).split('\n', 1)[0]! }));
    return undefined;
  }
}

function isNotThere(error: unknown): boolean {
  return error instanceof DevloopError && error.code.startsWith('target.');
}
