import type { Call } from './fault-proxy.ts';

/**
 * The longest chain of calls, each of which began after the answer to the one before. A call that is repeated until its answer is the
 * expected one counts once, unless something was written in between.
 */
export function roundTrips(calls: Call[]): string[] {
  const steps: Call[] = [];
  for (const call of calls) {
    const before = steps.findLast(({ key }) => key === call.key);
    const isPoll =
      before !== undefined && !isChange(call) && !steps.slice(steps.indexOf(before)).some(isChange);
    if (isPoll) before.endedAt = call.endedAt;
    else steps.push({ ...call });
  }
  const chains = new Map<Call, string[]>();
  for (const step of steps.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const before = steps.filter((one) => chains.has(one) && one.endedAt <= step.startedAt);
    const longest = before.map((one) => chains.get(one)!).sort((a, b) => b.length - a.length)[0] ?? [];
    chains.set(step, [...longest, step.key]);
  }
  return [...chains.values()].sort((a, b) => b.length - a.length)[0] ?? [];
}

/** A probe is a dry run, and each probe has another nonce. */
function isChange({ key, isWrite }: Call): boolean {
  return isWrite && !key.includes('dryRun=All') && !/^PATCH .*devloop-probe-/.test(key);
}
