import type { ClusterApi } from '../../cluster/api/client.ts';
import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import { runningPods } from '../../cluster/takeover/pause/pods.ts';
import type { Target } from '../../operator/target.ts';
import type { Session } from '../start/session.ts';

/**
 * A Pod of the manager, for a program that reads its own: the manager goes on during a plan, and nothing may be created. Undefined if there is
 * none, or if the account is not allowed to list Pods.
 */
export async function ownPodOf(
  api: ClusterApi,
  { manager }: Pick<Target, 'manager'>,
): Promise<Session['ownPod']> {
  if (manager === undefined) return undefined;
  const [pod] = (await runningPods(api, manager).catch(undefinedIfForbidden)) ?? [];
  const { name, uid } = pod?.metadata ?? {};
  return name === undefined || uid === undefined ? undefined : { name, uid };
}
