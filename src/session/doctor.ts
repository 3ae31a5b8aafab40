import { DevloopError } from '../errors.ts';
import { openContext } from './context/context.ts';
import { thisMachine } from './context/local-machine.ts';
import type { DoctorOptions, Io } from './context/options.ts';
import { allChecks } from './doctor/checks.ts';
import { conclude, examine } from './doctor/examine.ts';
import { doctorRun } from './doctor/run.ts';

/** Checks whether `up` would work here. Emits one finding per answer, and throws the first error with which `up` would fail. */
export async function doctor(options: DoctorOptions, io: Io): Promise<void> {
  const opened = await openContext(options, { ...io, emit: () => {} }).catch(withoutCluster);
  await using _ = opened instanceof DevloopError ? null : opened;
  const run = doctorRun(opened, { options, io, machine: await thisMachine(io.env) });
  io.emit({ type: 'note', message: conclude(await examine(await allChecks(run), run)) });
}

/** Without a cluster this machine can still be checked. With invalid settings no answer would be reliable. */
function withoutCluster(error: unknown): DevloopError {
  if (error instanceof DevloopError && error.code !== 'config.invalid') return error;
  throw error;
}
