import { DevloopError } from '../../errors.ts';
import type { Answered } from './examine.ts';

/** The last line. What stands in the way is thrown, with the code of the first in the order in which `up` would meet them. Pure. */
export function conclude(findings: Answered[]): string {
  const obstacles = findings.filter(({ verdict }) => verdict === 'fail');
  const first = obstacles[0];
  if (first !== undefined) {
    const names = [...new Set(obstacles.map(({ check }) => check))].join(', ');
    const count = obstacles.length === 1 ? '1 thing stands' : `${obstacles.length} things stand`;
    const hint = first.hint === undefined ? {} : { hint: first.hint };
    throw new DevloopError(
      first.code ?? 'cluster.rejected',
      `${count} in the way of \`devloop up\`: ${names}.`,
      hint,
    );
  }
  const doubts = findings.filter(({ verdict }) => verdict === 'warn').length;
  return doubts === 0
    ? '`devloop up` would work.'
    : `\`devloop up\` would work; ${doubts === 1 ? '1 thing is' : `${doubts} things are`} doubtful.`;
}
