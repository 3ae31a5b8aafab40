import { jsonPath } from '../config/json-path.ts';
import { loadConfig } from '../config/load.ts';
import { USUAL_PORT } from '../reviews/export.ts';
import type { ReviewRecord } from '../reviews/record.ts';
import type { Io } from './context/options.ts';
import { compareAll } from './replay.ts';
import { type ManagerWanted, startManager } from './verify/manager.ts';
import { type ApiServer, startNoCluster } from './verify/no-cluster.ts';

const READY_SECONDS = 60;

export interface SavedSet {
  records: ReviewRecord[];
  checkout: string;
  withSideEffects: boolean;
}

/**
 * Builds the manager of the checkout, runs it without any cluster of the user's, sends it the set, and compares. Throws 'review.changed' if
 * an answer changed.
 */
export async function verifySet(set: SavedSet, io: Io): Promise<void> {
  const config = (await loadConfig(io.cwd))?.config ?? {};
  const { records, checkout } = set;
  const port = records.find((one) => one.port !== undefined)?.port ?? USUAL_PORT;
  const paths = [...new Set(records.map(({ path }) => path))];
  const wanted: ManagerWanted = { checkout, config, port, paths, readySeconds: READY_SECONDS };
  await using server = await startNoCluster();
  await compareWith(set, wanted, { server, io });
}

async function compareWith(
  { records, withSideEffects }: SavedSet,
  wanted: ManagerWanted,
  { server, io }: { server: ApiServer; io: Io },
): Promise<void> {
  await using manager = await startManager(wanted, server, io);
  const paths = (wanted.config.redact ?? []).map((path) => jsonPath(path)!);
  const { build } = manager;
  const { emit, signal } = io;
  await compareAll(records, {
    paths,
    withSideEffects,
    signal,
    emit,
    ...(build === undefined ? {} : { build }),
  });
}
