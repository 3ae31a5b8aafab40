import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pollUntil } from '../async.ts';
import { notWritten } from '../machine/own-files.ts';
import { killSession, signalGroup } from '../machine/process.ts';
import { startTimeOf } from '../machine/system.ts';

/** Identifies one process: its pid alone may belong to another process by the time the record is read. */
export interface ControllerRecord {
  pid: number;
  startTime: string;
  command: string[];
}

const POLL_MS = 10;
const DESCENDANTS_MS = 1000;

/**
 * Records the controller before its program begins, for a later session that finds this one dead. Synchronous, so that the program waits
 * as short as possible. Throws 'files.not-written'.
 */
export function recordController(file: string, record: ControllerRecord): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    throw notWritten(dirname(file), error);
  }
}

/** Ends the controller that a killed session left behind, with its whole session: a debugger is the leader, and ends what it debugs on SIGTERM. Returns it, or undefined when there is none. */
export async function endOrphan(
  file: string,
  options: { graceMs: number } = { graceMs: 5000 },
): Promise<{ pid: number; command: string[] } | undefined> {
  const record = await readRecord(file);
  const found = record !== undefined && isRunning(record);
  if (found) {
    signalGroup(record.pid, 'SIGTERM');
    const isGone = async () => !isRunning(record);
    await pollUntil(isGone, { everyMs: POLL_MS, limitMs: options.graceMs });
    await killSession(record.pid, DESCENDANTS_MS);
  }
  await rm(file, { force: true });
  return found ? { pid: record.pid, command: record.command } : undefined;
}

/** The pid of a recorded controller, which a killed session may have left behind; undefined when it no longer runs. */
export async function orphanPid(file: string): Promise<number | undefined> {
  const record = await readRecord(file);
  return record !== undefined && isRunning(record) ? record.pid : undefined;
}

function isRunning(record: ControllerRecord): boolean {
  return startTimeOf(record.pid) === record.startTime;
}

async function readRecord(file: string): Promise<ControllerRecord | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as Partial<ControllerRecord>;
    return isRecord(record) ? record : undefined;
  } catch {
    // Cut short by the crash that it was written for.
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
