import type { Service } from '../../cluster/api/objects.ts';
import type { DevloopError } from '../../errors.ts';
import { discover } from '../../operator/discover.ts';
import type { Target } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { type CommandContext, checkoutFactsOf } from '../context/context.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import type { DoctorOptions, Io } from '../context/options.ts';

/** What all checks are about. */
export interface DoctorRun {
  opened: CommandContext;
  options: DoctorOptions;
  io: Io;
  machine: LocalMachine;
  /** The mark of the temporary objects. */
  session: string;
}

/** The operator that `up` would take over, and what discovery said of it. */
export interface DiscoveredOperator {
  target: Target;
  /** API groups that the checkout defines. */
  groups: Set<string>;
  told: DevloopEvent[];
  /** Services whose ports cannot be right; they are in the target without those ports. */
  refusals: Refused[];
}

export interface Refused {
  service: Service;
  error: DevloopError;
}

/** Discovers as `up` does, but goes on where a Service has wrong ports: all the rest can still be checked. */
export async function discoverOperator({ opened }: DoctorRun): Promise<DiscoveredOperator> {
  const told: DevloopEvent[] = [];
  const refusals: Refused[] = [];
  const facts = await checkoutFactsOf(opened);
  const target = await discover({
    api: opened.api,
    names: opened.wanted,
    facts,
    emit: (event) => told.push(event),
    onUnusablePort: (error, service) => refusals.push({ error, service }),
  });
  return { target, groups: facts.groups, told, refusals };
}
