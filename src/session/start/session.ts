import type { CheckoutFacts } from '../../checkout/facts.ts';
import type { Prepared } from '../../checkout/language.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { LocalFiles } from '../../local/key-pair-files.ts';
import type { Target } from '../../operator/target.ts';
import type { CommandContext } from '../context/context.ts';
import type { InTheWay } from '../context/holders.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import type { Io, UpOptions } from '../context/options.ts';
import type { Question } from '../context/question.ts';
import type { TakeOverPlan } from './plan.ts';

/** One run of `devloop up`. */
export interface UpCommand {
  /** When the command began, on the clock of performance.now(). */
  startedAt: number;
  context: CommandContext;
  options: UpOptions;
  io: Io;
  machine: LocalMachine;
  /** What was begun before the discovery; absent if devloop builds nothing. */
  prepared?: Prepared;
}

/** What the command takes over, and how. */
export interface PlannedTakeOver {
  target: Target;
  plan: TakeOverPlan;
  facts: CheckoutFacts;
}

/** What was found, and what the user has to agree to. */
export interface Proposal extends PlannedTakeOver {
  inTheWay: InTheWay;
  question: Question;
}

/** A take-over by one command. Everything that it changes in the cluster carries its id. */
export interface Session extends UpCommand, PlannedTakeOver {
  sessionId: string;
  /** The manager, if it was not ready before anything was changed. */
  unready: ObjectRef[];
  files: LocalFiles;
  /** The Pod that the controller takes for its own, if not one that devloop makes. */
  ownPod?: { name: string; uid: string } | undefined;
  /** Ports of the Pod, each with the port on which the controller listens instead. They are known before any gateway is started. */
  moved: Map<number, number>;
}
