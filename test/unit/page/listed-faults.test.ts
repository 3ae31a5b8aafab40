import { expect, it } from 'vitest';
import { ListedFaults } from '../../../src/page/client/listed-faults.ts';
import type { FaultSummary } from '../../../src/report/fault.ts';

const fault = (id: string, rule: string): FaultSummary => ({ id, rule, seen: 3, met: 2, isOver: false });

it('a fault that is switched off or on keeps its place and its count, until it is removed', () => {
  const listed = new ListedFaults();
  const [a, b] = [fault('1', 'cut watch'), fault('2', '409 update')];
  const shown = (faults: FaultSummary[]) =>
    listed.of(faults).map(({ id = 'off', rule, met }) => `${id} ${rule} ${met}`);
  expect(shown([a, b])).toEqual(['1 cut watch 2', '2 409 update 2']);
  listed.setOff(a);
  expect(shown([b])).toEqual(['off cut watch 2', '2 409 update 2']);
  expect(shown([b, { ...fault('3', 'cut watch'), met: 0 }])).toEqual(['3 cut watch 0', '2 409 update 2']);
  listed.remove('cut watch');
  expect(shown([b])).toEqual(['2 409 update 2']);
});
