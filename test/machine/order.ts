import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A run takes at least as long as its longest file, so these start first. `npm test` prints the slowest files at its end. */
const LONGEST = [
  'login',
  'doctor-and-refusals',
  'variants',
  'guard',
  'routes',
  'pause',
  'sample',
  'routed',
  'up',
  'hollow',
  'down',
  'habits',
  'closed',
  'relay-pod',
  'ssh',
  'families',
  'supervisor',
  'api',
  'begun-build',
  'invocation',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf(file: TestSpecification): number {
  const rank = LONGEST.indexOf(basename(file.moduleId).replace(/(\.soak)?\.test\.ts$/, ''));
  return rank === -1 ? LONGEST.length : rank;
}
