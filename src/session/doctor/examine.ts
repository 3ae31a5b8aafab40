import { reportWhileWaiting } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { notice, type Told } from '../../report/notices/catalogue.ts';
import {
  type Check,
  type DoctorRun,
  type Finding,
  findingOf,
  NothingToCheck,
  timeoutFinding,
} from './check.ts';

export interface NamedFinding extends Finding {
  check: string;
}

/**
 * Runs all checks at once, each within its time limit, and emits their findings in the order of the list as soon as they are
 * known. Returns when all have settled, so that none leaves anything in the cluster. Throws when interrupted.
 */
export async function examine(checks: Check[], doctorRun: DoctorRun): Promise<NamedFinding[]> {
  const { emit } = doctorRun.io;
  const running = checks.map((check) => start(check, doctorRun));
  const named: NamedFinding[] = [];
  try {
    for (const { check, findings } of running) {
      const { name, limitSeconds } = check;
      const what = { for: `an answer: ${name}`, limitSeconds };
      for (const finding of await reportWhileWaiting(findings, what, emit)) {
        named.push({ check: name, ...finding });
        const { code: _, ...shown } = finding;
        emit({ type: 'finding', check: name, ...shown });
      }
    }
    return named;
  } finally {
    await Promise.allSettled(running.map(({ ended }) => ended));
  }
}

interface RunningCheck {
  check: Check;
  findings: Promise<Finding[]>;
  /** Settles when the check has ended, which can be after its time limit. */
  ended: Promise<unknown>;
}

function start(check: Check, doctorRun: DoctorRun): RunningCheck {
  const interrupted = doctorRun.io.signal;
  const deadline = AbortSignal.timeout(check.limitSeconds * 1000);
  const signal = AbortSignal.any([interrupted, deadline]);
  const ended = check.run(doctorRun, signal);
  const findings = Promise.race([ended, aborted(signal)]).then(
    (found) => [found].flat(),
    (error) => {
      interrupted.throwIfAborted();
      if (error instanceof NothingToCheck) return [];
      return [deadline.aborted ? timeoutFinding(check) : findingOf(error, check.optional)];
    },
  );
  // Both are awaited later; until then a failure must not count as unhandled.
  for (const one of [ended, findings]) one.catch(() => {});
  return { check, findings, ended };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** The last line of the output. Throws if `up` would fail, with the code of the first problem that it would meet. */
export function conclude(findings: NamedFinding[]): Told<'note'> {
  const failures = findings.filter(({ verdict }) => verdict === 'fail');
  const [first] = failures;
  if (first !== undefined) {
    const names = [...new Set(failures.map(({ check }) => check))].join(', ');
    const count = failures.length === 1 ? '1 problem' : `${failures.length} problems`;
    const message = `\`devloop up\` would fail. ${count}: ${names}.`;
    throw new DevloopError(first.code ?? 'cluster.rejected', message, { isSummary: true });
  }
  const warnings = findings.filter(({ verdict }) => verdict === 'warn').length;
  return notice('doctor.works', { warnings });
}
