import { reportWhileWaiting } from '../../async.ts';
import type { Io } from '../context/options.ts';
import { type Check, type Finding, findingOf, lateFinding } from './check.ts';

export interface Answered extends Finding {
  check: string;
}

/**
 * Runs all checks at once, each within its deadline, and tells their findings in the order of the list as soon as they are
 * known. Returns when all have come to rest, so that none leaves something behind in the cluster. Throws when interrupted.
 */
export async function examine(checks: Check[], io: Io): Promise<Answered[]> {
  const running = checks.map((check) => start(check, io.signal));
  const answered: Answered[] = [];
  try {
    for (const { check, findings } of running) {
      const { name, limitSeconds } = check;
      const answer = { for: `an answer: ${name}`, limitSeconds };
      for (const finding of await reportWhileWaiting(findings, answer, io.emit)) {
        answered.push({ check: name, ...finding });
        const { code: _, ...shown } = finding;
        io.emit({ type: 'finding', check: name, ...shown });
      }
    }
    return answered;
  } finally {
    await Promise.allSettled(running.map(({ ended }) => ended));
  }
}

interface Running {
  check: Check;
  findings: Promise<Finding[]>;
  /** Also when the deadline has passed, what was begun comes to its end. */
  ended: Promise<unknown>;
}

function start(check: Check, leaving: AbortSignal): Running {
  const deadline = AbortSignal.timeout(check.limitSeconds * 1000);
  const signal = AbortSignal.any([leaving, deadline]);
  const ended = check.run(signal);
  const findings = Promise.race([ended, aborted(signal)]).then(
    (found) => [found].flat(),
    (error) => {
      leaving.throwIfAborted();
      return [deadline.aborted ? lateFinding(check) : findingOf(error, check.aside ?? false)];
    },
  );
  // Both are awaited in their turn; until then a failure must not count as unhandled.
  for (const one of [ended, findings]) one.catch(() => {});
  return { check, findings, ended };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
