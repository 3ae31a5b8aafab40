import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { killGroup, signalGroup } from '../machine/process-group.ts';
import { startTimeOf } from '../machine/process-identity.ts';

/** Names one process for ever: a pid alone may belong to somebody else by the time that it is read. */
export interface ControllerRecord {
  pid: number;
  startTime: string;
  command: string[];
}

const POLL_MS = 10;
const DESCENDANTS_MS = 1000;

/** Remembers the running controller, for the session that finds this one killed. */
export async function recordController(file: string, record: ControllerRecord): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Ends the controller that a killed session left behind, with its whole group; says which, or undefined when there is none. */
export async function endOrphan(
  file: string,
  options: { graceMs: number } = { graceMs: 5000 },
): Promise<{ pid: number; command: string[] } | undefined> {
  const record = await readRecord(file);
  const found = record !== undefined && (await isStillThere(record));
  if (found) {
    signalGroup(record.pid, 'SIGTERM');
    for (let waited = 0; waited < options.graceMs && (await isStillThere(record)); waited += POLL_MS)
      await delay(POLL_MS);
    await killGroup(record.pid, DESCENDANTS_MS);
  }
  await rm(file, { force: true });
  return found ? { pid: record.pid, command: record.command } : undefined;
}

/** The controller that a killed session left behind, if it still runs. */
export async function orphanPid(file: string): Promise<number | undefined> {
  const record = await readRecord(file);
  return record !== undefined && (await isStillThere(record)) ? record.pid : undefined;
}

async function isStillThere(record: ControllerRecord): Promise<boolean> {
  return (await startTimeOf(record.pid)) === record.startTime;
}

async function readRecord(file: string): Promise<ControllerRecord | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as Partial<ControllerRecord>;
    return isRecord(record) ? record : undefined;
  } catch {
    // Cut short by the very crash that it was written for.
    return undefined;
  }
}

function isRecord(value: Partial<ControllerRecord> | null): value is ControllerRecord {
  return (
    Number.isInteger(value?.pid) &&
    value!.pid! > 1 &&
    typeof value?.startTime === 'string' &&
    Array.isArray(value.command)
  );
}
