import { DevloopError, type ErrorCode } from '../../errors.ts';
import { WITHOUT_CLUSTER } from '../../operator/services.ts';

const NO_CLUSTER: ErrorCode[] = ['kubeconfig.missing', 'cluster.unreachable'];

/** What to throw in place of an error of `up` or `doctor`: one without a cluster also names the way that needs none. */
export function orWithoutCluster(error: unknown): unknown {
  if (!(error instanceof DevloopError) || !NO_CLUSTER.includes(error.code)) return error;
  const hint = [error.hint, WITHOUT_CLUSTER].filter(Boolean).join('\n');
  return new DevloopError(error.code, error.message, { hint, cause: error.cause });
}
