import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type LocalFiles, localFiles } from '../../local/key-pair-files.ts';
import { type KeyPairSearch, type KeyPairs, mountPointsOf } from '../../local/key-pairs.ts';
import type { ControllerInputs } from '../../local/plan.ts';
import type { CommandContext } from '../context/context.ts';
import type { UpOptions } from '../context/options.ts';
import { controllerRecord } from '../context/session-directories.ts';
import type { Session } from './session.ts';

/** Where this session's files lie, for its own directory. */
export function filesIn(
  directory: string,
  { config, root }: CommandContext,
  { controller }: UpOptions,
): LocalFiles {
  const named = config.certificates?.directory;
  const keyPairDirectory = named === undefined ? undefined : resolve(root, named);
  return localFiles(directory, { startsController: controller, keyPairDirectory });
}

export function keyPairSearch({ opened, target }: Pick<Session, 'opened' | 'target'>): KeyPairSearch {
  return { api: opened.api, target, secretName: opened.config.certificates?.secret };
}

/** What of a session the plan of its controller is made from. */
export function controllerInputs(session: Session, pairs: KeyPairs): ControllerInputs {
  const { opened, target, sourcePaths, options, files, io } = session;
  const { api, root, config, chosen } = opened;
  return {
    api,
    target,
    checkout: { root, sourcePaths },
    settings: config.controller ?? {},
    command: options.command,
    chosen,
    env: io.env,
    files,
    keyPairMounts: mountPointsOf(pairs),
    stateFile: controllerRecord(files.directory),
    keptProgram: keptProgram(io.env, root),
  };
}

/** The newest program of a checkout is kept as a cache after its session. */
function keptProgram(env: Record<string, string | undefined>, root: string): string {
  const base = env.XDG_CACHE_HOME || join(env.HOME ?? homedir(), '.cache');
  return join(base, 'devloop', 'programs', createHash('sha256').update(root).digest('hex').slice(0, 16));
}
