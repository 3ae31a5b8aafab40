import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { BegunBuild } from '../../controller/begun-build.ts';
import type { LocalFiles } from '../../local/key-pair-files.ts';
import type { CheckoutFacts } from '../../operator/sources.ts';
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
  /** The user's GOFLAGS, read during the discovery; absent if devloop builds nothing. */
  goFlags?: Promise<string> | undefined;
}

/** What the command takes over, and how. */
export interface Discovered {
  target: Target;
  plan: TakeOverPlan;
  facts: CheckoutFacts;
}

/** What was found, and what the user has to agree to. */
export interface Considered extends Discovered {
  inTheWay: InTheWay;
  question: Question;
}

/** A take-over by one command. Everything that it changes in the cluster carries its id. */
export interface Session extends UpCommand, Discovered {
  sessionId: string;
  /** The manager, if it was not ready before anything was changed. */
  unready: ObjectRef[];
  files: LocalFiles;
  /** Ports of the Pod, each with the port on which the controller listens instead. They are known before any gateway is started. */
  moved: Map<number, number>;
  /** The build of the last session, started again. */
  begun?: BegunBuild | undefined;
}
