import { describeTarget } from '../holders.ts';
import type { Check, Finding } from './check.ts';
import type { Patient } from './patient.ts';

export function targetCheck(patient: Promise<Patient>): Check {
  return { name: 'target', limitSeconds: 60, run: async () => targetFinding(await patient) };
}

/** What would be taken over, and where each object was found. Pure. */
export function targetFinding({ target, told }: Patient): Finding {
  const found = told.flatMap((event) =>
    event.type === 'discovered' ? [`${event.what} ${event.value}: ${event.source}`] : [],
  );
  const doubts = told.flatMap((event) =>
    event.type === 'warning' || event.type === 'note' ? [event.message] : [],
  );
  if (target.services.length === 0 && target.deployment === undefined) {
    const answer = 'nothing in the cluster was matched to this checkout; the controller would only run here';
    const cure = 'If it is deployed, name it: devloop doctor --deployment namespace/name';
    return { verdict: 'doubtful', answer, cure };
  }
  const answer = [describeTarget(target), ...doubts].join('\n');
  return { verdict: doubts.length > 0 ? 'doubtful' : 'good', answer, proof: found.join('\n') };
}
