import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endOrphan, type Orphan, orphanOf } from '../../controller/orphan.ts';
import { removeLocalFiles } from '../../local/key-pair-files.ts';
import { makePath, requireWritable, writeBelow } from '../../machine/own-files.ts';
import { shortened } from '../../phrases.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { isRunning, type LocalMachine, thisMachine } from './local-machine.ts';
import { isSessionId, OWNER, type Owner, ownerOf, sessionIds } from './local-sessions.ts';

/** Returns an id that is short enough for labels and names, and random enough to be unique in a cluster. */
export function newSessionId(): string {
  return randomBytes(4).toString('hex');
}

/**
 * Creates a session's directory. The file that names its owner is in it from the start, so that another devloop that starts at the same
 * moment does not mistake it for the directory of a dead session.
 */
export async function claimDirectory(
  machine: LocalMachine,
  sessionId: string,
  of: Pick<Owner, 'checkout' | 'operator' | 'verifies' | 'embedded'>,
): Promise<string> {
  const { host, processStart } = machine;
  const owner: Owner = { host, pid: process.pid, processStart, ...of };
  const directory = join(machine.stateDirectory, sessionId);
  const unclaimed = join(machine.stateDirectory, `.${newSessionId()}`);
  await requireWritable(machine.stateDirectory);
  const claim = async (): Promise<void> => {
    await makePath(unclaimed);
    await writeFile(join(unclaimed, OWNER), JSON.stringify(owner), { mode: 0o600 });
    await rename(unclaimed, directory);
  };
  try {
    await writeBelow(machine.stateDirectory, claim);
    return directory;
  } catch (error) {
    await rm(unclaimed, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

/** A directory for the processes that `reviews verify` starts. It is not listed as a session. Throws 'files.not-written'. */
export async function verifyDirectory(
  checkout: string,
  env: Record<string, string | undefined>,
): Promise<string> {
  return await claimDirectory(await thisMachine(env), newSessionId(), { checkout, verifies: true });
}

/** The processes that devloop starts, in the order in which it ends them. */
const STARTED = ['controller', 'kube-apiserver', 'etcd'] as const;
type StartedProgram = (typeof STARTED)[number];
/** An API server takes seconds to end by itself, and nothing depends on how it ends. */
const GRACE_MS: Record<StartedProgram, number> = { controller: 5000, 'kube-apiserver': 0, etcd: 0 };

/** The file in the directory of a session or of `reviews verify` that records a process started by devloop. */
export function processRecord(directory: string, name: StartedProgram): string {
  return join(directory, `${name}.json`);
}

/**
 * Whose directories are meant: those of processes that run no session, or also those of sessions with an API server of their own. Those of
 * other sessions stay until `down` has restored the cluster.
 */
export type Orphaned = 'verify' | 'embedded';

/** Ends what killed devloop processes have left running, and removes their files. */
export async function endOrphans(machine: LocalMachine, emit: Emit, of?: Orphaned): Promise<void> {
  for (const directory of await abandonedDirectories(machine, of)) {
    for (const name of STARTED) {
      const ended = await endOrphan(processRecord(directory, name), { graceMs: GRACE_MS[name] });
      if (ended) emit(orphanNotice(ended, false));
    }
    await removeLocalFiles(directory);
  }
}

/** Reports what `endOrphans` would end. */
export async function reportOrphans(machine: LocalMachine, emit: Emit, of?: Orphaned): Promise<void> {
  for (const orphan of await orphans(machine, of)) emit(orphanNotice(orphan, true));
}

/** The most characters of a command that are shown. A single argument can have 128 KiB. */
const MOST_SHOWN = 200;

function orphanNotice({ pid, command }: Orphan, dryRun: boolean): DevloopEvent {
  return notice('process.stopped', { pid, command: shortened(command.join(' '), MOST_SHOWN), dryRun });
}

export async function orphanPids(machine: LocalMachine): Promise<number[]> {
  return (await orphans(machine)).map(({ pid }) => pid);
}

async function orphans(machine: LocalMachine, of?: Orphaned): Promise<Orphan[]> {
  const directories = await abandonedDirectories(machine, of);
  return await runningOf(
    directories.flatMap((directory) => STARTED.map((name) => processRecord(directory, name))),
  );
}

/** The pids of the controllers that sessions of this machine run. */
export async function controllersOf(machine: LocalMachine, sessionIds: string[]): Promise<number[]> {
  const directories = sessionIds
    .filter(isSessionId)
    .map((sessionId) => join(machine.stateDirectory, sessionId));
  const running = await runningOf(directories.map((directory) => processRecord(directory, 'controller')));
  return running.map(({ pid }) => pid);
}

async function runningOf(records: string[]): Promise<Orphan[]> {
  const running = await Promise.all(records.map(orphanOf));
  return running.filter((one) => one !== undefined);
}

async function abandonedDirectories(machine: LocalMachine, of?: Orphaned): Promise<string[]> {
  const ids = sessionIds(machine);
  const directories = ids.map((id) => join(machine.stateDirectory, id));
  const areMeant = await Promise.all(
    directories.map(
      async (directory) =>
        (of === undefined || isOf(ownerOf(directory), of)) && (await isAbandoned(machine, directory)),
    ),
  );
  return directories.filter((_, index) => areMeant[index]);
}

function isOf(owner: Owner | undefined, of: Orphaned): boolean {
  return owner?.verifies === true || (of === 'embedded' && owner?.embedded !== undefined);
}

/** Several machines may share a home directory without seeing each other's processes: each leaves the others' sessions alone. */
async function isAbandoned(machine: LocalMachine, directory: string): Promise<boolean> {
  const owner = ownerOf(directory);
  if (owner === undefined) return true;
  if ((await isRunning(owner)) !== false) return false;
  // A machine's name may change, but a controller that runs here was started here.
  const records = STARTED.map((name) => processRecord(directory, name));
  return owner.host === machine.host || (await runningOf(records)).length > 0;
}
