import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ControllerPlan } from '../../controller/supervisor.ts';
import {
  type LocalFiles,
  localFiles,
  recordOutside,
  writeFoundPair,
  writeHardCoded,
} from '../../local/key-pair-files.ts';
import { type KeyPairSearch, type KeyPairs, mountPointsOf, readKeyPairs } from '../../local/key-pairs.ts';
import { writeNeededFiles } from '../../local/mounts.ts';
import { type ControllerInputs, planController } from '../../local/plan.ts';
import { makePath, writeBelow } from '../../machine/own-files.ts';
import { requireFreePort } from '../../machine/port.ts';
import type { Target } from '../../operator/target.ts';
import type { CommandContext } from '../context/context.ts';
import { controllerRecord } from '../context/session-directories.ts';
import type { Session, UpCommand } from './session.ts';
import { podNameFor } from './stand-in.ts';

/** What is ready on this machine when the take-over begins. */
export interface LocalParts {
  pairs: KeyPairs;
  /** Where the controller looks for its key pair. */
  keyPairDirectories: string[];
  /** Absent if the user starts the process that answers. */
  controller: ControllerPlan | undefined;
}

/** Finds the key pairs, plans the controller and writes the files that it needs. */
export async function prepareLocally(session: Session): Promise<LocalParts> {
  const { context, target, options, files, io } = session;
  const temporary = join(files.directory, 'tmp');
  await writeBelow(files.directory, () => makePath(temporary));
  const pairs = await readKeyPairs(keyPairSearch(context, target), io.emit);
  const [pair] = pairs.values();
  // The key pair for a process of the user's is removed when the session ends, unless the user named the directory.
  if (!options.controller && context.config.certificates?.directory === undefined)
    await recordOutside(files.directory, [files.keyPairDirectory]);
  if (pair) await writeFoundPair(files.keyPairDirectory, pair, io.emit);
  if (!options.controller)
    return { pairs, keyPairDirectories: [files.keyPairDirectory], controller: undefined };
  const { plan, needed, hardCoded } = await planController(controllerInputs(session, pairs), io);
  await writeNeededFiles(needed);
  // The supervisor checks again when it starts; here nothing has been changed yet.
  if (plan.webhook) await requireFreePort(plan.webhook.port);
  const written = pair ? await writeHardCoded(files, hardCoded, pair, io.emit) : [];
  return { pairs, keyPairDirectories: [files.keyPairDirectory, ...written], controller: plan };
}

/** Where a session's files are, given its directory. */
export function localFilesOf(directory: string, { context, options }: UpCommand): LocalFiles {
  const named = context.config.certificates?.directory;
  const keyPairDirectory = named === undefined ? undefined : resolve(context.root, named);
  return localFiles(directory, { startsController: options.controller, keyPairDirectory });
}

export function keyPairSearch({ api, config }: CommandContext, target: Target): KeyPairSearch {
  return { api, target, secretName: config.certificates?.secret };
}

/** What the controller's plan is made from. */
export function controllerInputs(session: Session, pairs: KeyPairs): ControllerInputs {
  const { context, target, facts, options, files, io, sessionId } = session;
  const { api, root, config, chosen } = context;
  return {
    api,
    target,
    checkout: { root, facts },
    settings: config.controller ?? {},
    command: options.command,
    goPackage: options.package,
    chosen,
    podName: podNameFor(target, sessionId),
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
