import { sessionsInTheWay } from '../context/holders.ts';
import { type Check, type Finding, standingOn } from './check.ts';
import type { DiscoveredOperator, DoctorRun } from './operator.ts';

/** The dead sessions whose marks the target carries; throws 'session.held' while one lives. Looks for up to 15 s. */
export async function askHolders(
  { opened, machine, io }: DoctorRun,
  operator: Promise<DiscoveredOperator>,
): Promise<string[]> {
  const { target } = await standingOn(operator, 'there is no target');
  // The waiting has a line already, as every check has.
  const silent = { api: opened.api, emit: () => {}, signal: io.signal };
  return (await sessionsInTheWay(silent, target, machine, false)).sessions;
}

export function heldCheck(dead: Promise<string[]>): Check {
  return { name: 'session', limitSeconds: 60, run: async () => heldFinding(await dead) };
}

/** Pure. */
export function heldFinding(dead: string[]): Finding {
  if (dead.length === 0) {
    const proof = 'no living Lease and no mark on its objects';
    return { verdict: 'ok', answer: 'nobody holds the operator', proof };
  }
  return {
    verdict: 'warn',
    answer: `session ${dead.join(', ')} is dead, but what it changed is not put back`,
    proof: 'its mark stands on the objects, and its process or Lease does not move any more',
    hint: 'devloop down (the next `devloop up` does it first, too)',
  };
}
