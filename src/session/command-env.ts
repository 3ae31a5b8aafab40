import { delimiter } from 'node:path';
import { writeNeededFiles } from '../local/mounts.ts';
import { planKubeconfig } from '../local/plan-kubeconfig.ts';
import type { RunningSession } from './running.ts';

type Place = Pick<RunningSession, 'context' | 'files' | 'options' | 'io'>;

/**
 * The environment of a command of the user that works in the session's cluster, whatever becomes of the user's kubeconfig. It reaches the API
 * server itself, and not through the API proxy: its calls are not the controller's.
 */
export async function commandEnv({ context, files, options, io }: Place): Promise<NodeJS.ProcessEnv> {
  const { api } = context;
  const hasOwnKubeconfig = options.embedded !== undefined;
  const planned = planKubeconfig({ api, files, hasOwnKubeconfig }, false);
  await writeNeededFiles(planned?.needed ?? []);
  return {
    ...io.env,
    ...(planned && { KUBECONFIG: planned.paths.join(delimiter) }),
    // A suite can start such an API server, too.
    ...(options.embedded && { KUBEBUILDER_ASSETS: options.embedded.assets }),
  };
}
