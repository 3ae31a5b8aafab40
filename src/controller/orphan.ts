import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pollUntil } from '../async.ts';
import { notWritten } from '../machine/own-files.ts';
import { killSession, signalGroup } from '../machine/process.ts';
import { startTimeOf } from '../machine/system.ts';

/** A process that devloop has started. */
export interface Orphan {
  pid: number;
  command: string[];
}

/** Identifies one process: its pid alone may belong to another process by the time the record is read. */
export interface ProcessRecord extends Orphan {
  startTime: string;
}

const POLL_MS = 10;
const DESCENDANTS_MS = 1000;

/**
 * Records a process before its program begins, for a later devloop that finds this one dead. Synchronous, so that the program waits as
 * briefly as possible. Throws 'files.not-written'.
 */
export function recordStarted(file: string, process: Orphan): void {
  const startTime = startTimeOf(process.pid);
  // Without a start time, the process has ended already.
  if (startTime !== undefined) recordProcess(file, { ...process, startTime });
}

export function recordProcess(file: string, record: ProcessRecord): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    throw notWritten(dirname(file), error);
  }
}

/**
 * Ends the process that a killed devloop left behind, and its whole session: the process may be a debugger, which ends the controller on
 * SIGTERM. Returns the process, or undefined if there is none.
 */
export async function endOrphan(
  file: string,
  options: { graceMs: number } = { graceMs: 5000 },
): Promise<Orphan | undefined> {
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

/** A recorded process, which a killed devloop may have left behind; undefined when it no longer runs. */
export async function orphanOf(file: string): Promise<Orphan | undefined> {
  const record = await readRecord(file);
  return record !== undefined && isRunning(record) ? record : undefined;
}

function isRunning(record: ProcessRecord): boolean {
  return startTimeOf(record.pid) === record.startTime;
}

async function readRecord(file: string): Promise<ProcessRecord | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as Partial<ProcessRecord>;
    return isRecord(record) ? record : undefined;
  } catch {
    // The record may have been cut short by the crash that it is meant for.
    return undefined;
  }
}

function isRecord(value: Partial<ProcessRecord> | null): value is ProcessRecord {
  return (
    Number.isInteger(value?.pid) &&
    value!.pid! > 1 &&
    typeof value?.startTime === 'string' &&
    Array.isArray(value.command)
  );
}
