import type { CheckoutFacts } from '../../checkout/facts.ts';
import type { Checkout } from '../../checkout/files.ts';
import type { SelfReview } from '../../cluster/api/account.ts';
import type { Service } from '../../cluster/api/objects.ts';
import type { PauseStep } from '../../cluster/takeover/pause/pause.ts';
import type { Settings } from '../../config/merge.ts';
import { DevloopError, type ErrorCode } from '../../errors.ts';
import type { PlannedProgram } from '../../local/program.ts';
import type { Target } from '../../operator/target.ts';
import type { DevloopEvent, Verdict } from '../../report/events.ts';
import type { CommandContext } from '../context/context.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import type { Io } from '../context/options.ts';
import type { Question } from '../context/question.ts';
import type { openQuestion } from '../start/consent.ts';
import type { AllowedParts } from '../start/permissions.ts';

export interface Finding {
  verdict: Verdict;
  answer: string;
  /** The facts behind the answer, one per entry. */
  proof?: string[];
  latencyMs?: number;
  /** What to do next, ideally a command. */
  hint?: string;
  /** The error with which `up` would fail; set when the verdict is `fail`. */
  code?: ErrorCode;
}

/** One check of `devloop doctor`. The list of all checks is in ../doctor.ts. */
export interface Check {
  name: string;
  limitSeconds: number;
  /** Set if `up` does not need this check. Without an answer, its verdict is then `unknown` rather than `fail`. */
  optional?: true;
  /** The error code of a timeout; `cluster.unreachable` by default. */
  timeoutCode?: ErrorCode;
  /** Throws NotChecked, or the same error with which `up` would fail. */
  run(doctorRun: DoctorRun, signal: AbortSignal): Promise<Finding | Finding[]>;
}

/**
 * What the checks share. The work behind each promise is done only once. If it fails, the checks that need its result are skipped. Without
 * a cluster, `context` rejects, and only the checks of this machine give an answer.
 */
export interface DoctorRun {
  settings: Settings;
  io: Io;
  machine: LocalMachine;
  /** The root of the checkout. */
  root: string;
  checkout: Checkout;
  context: Promise<CommandContext>;
  version: Promise<Version>;
  self: Promise<SelfReading>;
  operator: Promise<DiscoveredOperator>;
  /** How `up` would pause the manager. */
  pause: Promise<PauseStep[]>;
  /** What the user has not agreed to. */
  consent: Promise<Consent>;
  permissions: Promise<AllowedParts>;
  /** Dead sessions that left changes on the target; rejects with `session.held` while a live one holds it. */
  deadSessions: Promise<string[]>;
  toolchain: Promise<Finding>;
  /** The program that `up` would build and run. */
  program: Promise<PlannedProgram>;
}

/** What `up` would ask. */
export interface Consent {
  open: ReturnType<typeof openQuestion>;
  question: Question;
}

/** The operator that `up` would take over, and what discovery reported. */
export interface DiscoveredOperator {
  target: Target;
  facts: CheckoutFacts;
  events: DevloopEvent[];
  /** Services with ports that cannot be right; the target has them without those ports. */
  refusals: RefusedService[];
}

export interface RefusedService {
  service: Service;
  error: DevloopError;
}

/** The API server's own version, such as `v1.36.3`, and how long the answer took. */
export interface Version {
  gitVersion: string;
  latencyMs: number;
}

/** What the API server says about this account, and when, on the clock of `Date.now()`, it was asked and had answered. */
export interface SelfReading {
  review: SelfReview | undefined;
  fromMs: number;
  toMs: number;
}

/** Thrown when something that the check needs is missing. Another check reports why. */
export class NotChecked extends Error {}

/** Thrown when there is no cluster, or no checkout. Another check reports that, and this check prints nothing. */
export class NothingToCheck extends NotChecked {}

/** The result of earlier work. If that failed, this check is skipped. */
export async function needed<T>(earlier: Promise<T>, otherwise: string): Promise<T> {
  try {
    return await earlier;
  } catch (error) {
    if (error instanceof NotChecked) throw error;
    const isMissing = error instanceof DevloopError && error.code === 'target.no-operator';
    throw isMissing ? new NothingToCheck(otherwise) : new NotChecked(otherwise);
  }
}

/** The operator. If there is none, another check reports why. */
export function neededOperator<T>(operator: Promise<T>): Promise<T> {
  return needed(operator, 'no operator was found');
}

/** The cluster's answer. If there is none, another check reports why. */
export async function neededOfCluster<T>(earlier: Promise<T>): Promise<T> {
  return await earlier.catch(() => Promise.reject(new NothingToCheck('the cluster does not answer')));
}

/** An expected failure as a finding; anything else is a bug and is rethrown. */
export function findingOf(error: unknown, optional = false): Finding {
  if (error instanceof NotChecked) return { verdict: 'unknown', answer: `not checked: ${error.message}` };
  if (!(error instanceof DevloopError)) throw error;
  const { code, message, hint } = error;
  const next = hint === undefined ? {} : { hint };
  return optional
    ? { verdict: 'unknown', answer: message, ...next }
    : { verdict: 'fail', answer: message, ...next, code };
}

export function timeoutFinding({ optional, timeoutCode, limitSeconds }: Check): Finding {
  const answer = `no answer within ${limitSeconds} s`;
  return optional
    ? { verdict: 'unknown', answer }
    : { verdict: 'fail', answer, code: timeoutCode ?? 'cluster.unreachable' };
}
