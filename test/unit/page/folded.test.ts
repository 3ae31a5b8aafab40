import { expect, it } from 'vitest';
import { foldedIn } from '../../../src/page/folded.ts';
import type { TimelineEntry } from '../../../src/page/protocol.ts';
import { reconcileOf } from '../../support/session-facts.ts';

it('a timeline counts reconciles that repeat each other, and leaves out what these have logged', () => {
  const failed = (number: number): TimelineEntry[] => {
    const reconcile = reconcileOf(number, { name: 'web', result: 'error', error: 'boom' });
    const logged = { type: 'timeline.logged' as const, at: reconcile.at, reconcile: reconcile.reconcile };
    return [
      { type: 'reconciles.listed', reconcile },
      { ...logged, line: `boom ${number}` },
    ];
  };
  const other = { type: 'timeline.logged', at: reconcileOf(9).at, reconcile: 'x', line: 'other' } as const;
  const shown = foldedIn([...failed(1), other, ...failed(2), ...failed(3)]).map(({ entry, again }) => [
    entry.type === 'timeline.logged' ? entry.line : '',
    again.map(({ id }) => id).join(' '),
  ]);
  expect(shown).toEqual([
    ['', 'k-000002 k-000003'],
    ['boom 1', ''],
    ['other', ''],
  ]);
});
