import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { pinnedKubeconfig } from '../../cluster/api/pinned.ts';
import { notWritten } from '../../machine/own-files.ts';
import type { CommandContext } from '../context/context.ts';
import { findAssets } from '../context/envtest-assets.ts';

/** What programs beside a session need to reach its API server, as the controller's account plays no role for them. */
export interface SessionEnvironment {
  context: string;
  /** A list of files, as KUBECONFIG has it. Absent if the session uses the configuration of the Pod in which it runs. */
  kubeconfig?: string;
  /** The programs of envtest. */
  assets?: string;
  /** Whether the API server is the session's own. */
  isEmbedded: boolean;
}

interface Described {
  context: Pick<CommandContext, 'api' | 'root'>;
  files: { directory: string };
  options: { embedded?: object };
  io: { env: Record<string, string | undefined> };
}

/**
 * A session on a cluster of the user's names a file that pins context and cluster, and then the user's own files, which have the credentials.
 * Throws 'files.not-written'.
 */
export async function environmentOf({
  context: { api, root },
  files,
  options,
  io,
}: Described): Promise<SessionEnvironment> {
  const { directory: assets } = await findAssets(root, io.env);
  const isEmbedded = options.embedded !== undefined;
  const kubeconfig = isEmbedded ? api.kubeconfigFiles : await pinnedFiles(api, files.directory);
  return {
    ...{ context: api.context, isEmbedded },
    ...(kubeconfig.length > 0 && { kubeconfig: kubeconfig.join(delimiter) }),
    ...(assets !== undefined && { assets }),
  };
}

/** What of it is set for such programs. */
export function variablesOf({
  kubeconfig,
  assets,
}: Pick<SessionEnvironment, 'kubeconfig' | 'assets'>): Record<string, string> {
  return {
    ...(kubeconfig !== undefined && { KUBECONFIG: kubeconfig }),
    ...(assets !== undefined && { KUBEBUILDER_ASSETS: assets }),
  };
}

/** The environment of a command of the user that `test` or `crashtest` runs. */
export async function commandEnv(session: Described): Promise<NodeJS.ProcessEnv> {
  return { ...session.io.env, ...variablesOf(await environmentOf(session)) };
}

async function pinnedFiles(
  { pinned, kubeconfigFiles }: Described['context']['api'],
  directory: string,
): Promise<string[]> {
  if (kubeconfigFiles.length === 0) return [];
  const file = join(directory, 'shell-kubeconfig');
  try {
    // Somebody may be reading what is there.
    const fresh = `${file}.${randomUUID()}`;
    await writeFile(fresh, JSON.stringify(pinnedKubeconfig(pinned)), { mode: 0o600 });
    await rename(fresh, file);
  } catch (error) {
    throw notWritten(directory, error);
  }
  return [file, ...kubeconfigFiles];
}
