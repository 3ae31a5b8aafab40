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
  listed.setOff({ ...a, key: '1' });
  expect(shown([b])).toEqual(['off cut watch 2', '2 409 update 2']);
  expect(shown([b, { ...fault('3', 'cut watch'), met: 0 }])).toEqual(['3 cut watch 0', '2 409 update 2']);
  listed.remove('1');
  expect(shown([b])).toEqual(['2 409 update 2']);
});

it('of faults with the same rule, each is listed, and switched off by itself', () => {
  const listed = new ListedFaults();
  const [a, b] = [fault('1', 'cut watch'), fault('2', 'cut watch')];
  const shown = (faults: FaultSummary[]) => listed.of(faults).map(({ id = 'off', key }) => `${key} ${id}`);
  expect(shown([a, b])).toEqual(['1 1', '2 2']);
  listed.setOff({ ...a, key: '1' });
  expect(shown([a, b])).toEqual(['1 1', '2 2']);
  expect(shown([b])).toEqual(['1 off', '2 2']);
  expect(shown([b, fault('3', 'cut watch')])).toEqual(['1 3', '2 2']);
  expect(shown([b])).toEqual(['2 2']);
});
