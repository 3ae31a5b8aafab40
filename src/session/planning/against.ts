import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Checkout } from '../../checkout/files.ts';
import { removeOldPrograms } from '../../controller/programs.ts';
import { requireLanguage } from '../../local/program.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { checkoutFactsOf } from '../context/context.ts';
import { buildsProgram } from '../context/proxied.ts';
import { withoutDiscoveries } from '../context/without-discoveries.ts';
import { keptProgram, prepareProgram } from '../start/controller.ts';
import type { PlannedTakeOver, UpCommand } from '../start/session.ts';
import { exportRevision, ofRevision, type Revision } from './revision.ts';
import { type DryRunResult, inDirectory, planOf, type RunLimits } from './run-dry.ts';

/** The plan of a revision, with the settings and the operator of the checkout. Its files are gone when this ends. */
export async function planRevision(
  revision: Revision,
  { command, found, limits }: { command: UpCommand; found: PlannedTakeOver; limits: RunLimits },
): Promise<DryRunResult> {
  const { context, options } = command;
  const io = { ...command.io, emit: withoutDiscoveries(command.io.emit) };
  io.emit(notice('plan.revision', { revision: revision.shown }));
  return await inDirectory(command, async (directory) => {
    const place = await exportRevision(revision, context, directory, io.signal);
    try {
      const there = { ...context, ...place, checkout: new Checkout(place.root) };
      const facts = await checkoutFactsOf(there);
      if (buildsProgram({ context, options })) requireLanguage(facts.language, place.root);
      const prepared = await prepareProgram({ context: there, options }, io);
      return await planOf(
        directory,
        { ...command, io, context: there, prepared },
        { ...found, facts },
        limits,
      );
    } catch (error) {
      throw ofRevision(error, revision, place);
    } finally {
      await rm(place.root, { recursive: true, force: true }).catch(() => {});
      // The programs of checkouts that are gone are removed.
      await removeOldPrograms(dirname(keptProgram(io.env, place.root))).catch(() => {});
    }
  });
}
