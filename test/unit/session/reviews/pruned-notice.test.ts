import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import type { PrunedField } from '../../../../src/report/review.ts';
import { createPrunedNotice } from '../../../../src/session/reviews/pruned-notice.ts';
import { eventually } from '../../../support/eventually.ts';

it('warns once for each kind, and not of what a new CRD does not mend', async () => {
  const events: DevloopEvent[] = [];
  const notice = createPrunedNotice(
    { root: '/nowhere', cwd: '/nowhere' },
    (event) => void events.push(event),
  );
  const review = (kind: string, ...pruned: PrunedField[]): void => {
    const ms = { held: 0, controller: 1, total: 1, budget: 1 };
    notice.observe({
      ...{ type: 'review', id: 'r-000001', at: '', kind: 'admission', webhook: 'w', path: '/w' },
      ...{ verdict: 'allowed', ms, resource: { group: 'shop', version: 'v1', kind }, pruned },
    });
  };
  review('Paint', { field: 'status.phase', why: 'status-subresource' });
  review('Paint', { field: 'spec.colour', why: 'not-in-crd' });
  review('Paint', { field: 'spec.size', why: 'not-in-crd' });
  review('Brush', { field: 'spec.size', why: 'not-in-crd' });
  await eventually(async () => expect(events).toHaveLength(2));
  expect(events).toMatchObject([
    { type: 'warning', message: expect.stringContaining('spec.colour of each Paint') },
    { type: 'warning', message: expect.stringContaining('spec.size of each Brush') },
  ]);
});
