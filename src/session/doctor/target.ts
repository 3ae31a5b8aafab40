import { ApiError } from '../../cluster/api/errors.ts';
import { describeTarget } from '../context/holders.ts';
import type { Rights } from '../route/ways.ts';
import { type Check, type Finding, NotChecked } from './check.ts';
import type { DiscoveredOperator } from './operator.ts';

export function targetCheck(operator: Promise<DiscoveredOperator>, rights: Promise<Rights>): Check {
  return {
    name: 'target',
    limitSeconds: 60,
    async run() {
      try {
        return targetFinding(await operator);
      } catch (error) {
        // The list of all that is missing says more than the first refusal.
        if (error instanceof ApiError && error.isForbidden && (await rights).lacking.length > 0)
          throw new NotChecked('the rights to find it are missing');
        throw error;
      }
    },
  };
}

/** What would be taken over, and where each object was found. Pure. */
export function targetFinding({ target, told }: DiscoveredOperator): Finding {
  const found = told.flatMap((event) =>
    event.type === 'discovered' ? [`${event.what}: ${event.source}`] : [],
  );
  const doubts = told.flatMap((event) =>
    event.type === 'warning' || event.type === 'note' ? [event.message] : [],
  );
  if (target.services.length === 0 && target.deployment === undefined) {
    const answer = 'nothing in the cluster was matched to this checkout; the controller would only run here';
    const hint = 'If it is deployed, name it: devloop doctor --deployment namespace/name';
    return { verdict: 'warn', answer, hint };
  }
  const answer = [describeTarget(target).replaceAll(', ', '\n'), ...doubts].join('\n');
  return { verdict: doubts.length > 0 ? 'warn' : 'ok', answer, proof: found.join('\n') };
}
