import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import type { PrunedField } from '../../../../src/report/review.ts';
import { createPrunedNotice } from '../../../../src/session/reviews/pruned-notice.ts';
import { eventually } from '../../../support/eventually.ts';
import { partly } from '../../../support/partly.ts';

const { signal } = new AbortController();
const nowhere = { root: '/nowhere', cwd: '/nowhere', groups: new Set(['shop']) };

it('warns once for each field, and not of what a new CRD does not mend', async () => {
  const events: DevloopEvent[] = [];
  const notice = createPrunedNotice(nowhere, { emit: (event) => void events.push(event), signal });
  const review = (kind: string, ...pruned: PrunedField[]): void => {
    const ms = { held: 0, controller: 1, total: 1, budget: 1 };
    notice.observe({
      ...{ type: 'review', id: 'r-000001', at: '', kind: 'admission', webhook: 'w', path: '/w' },
      ...{ verdict: 'allowed', ms, resource: { group: 'shop', version: 'v1', kind }, pruned },
    });
  };
  review('Paint', { field: 'status.phase', why: 'status-subresource' });
  review('Paint', { field: 'spec.colour', why: 'not-in-crd' });
  review('Paint', { field: 'spec.colour', why: 'not-in-crd' });
  review('Paint', { field: 'spec.size', why: 'not-in-crd' }, { field: 'spec.colour', why: 'not-in-crd' });
  review('Brush', { field: 'spec.size', why: 'not-in-crd' });
  await eventually(async () => expect(events).toHaveLength(3));
  expect(events).toMatchObject([
    { type: 'warning', message: expect.stringContaining('spec.colour of each Paint') },
    { type: 'warning', message: expect.stringContaining('drops spec.size of each Paint') },
    { type: 'warning', message: expect.stringContaining('spec.size of each Brush') },
  ]);
});

it('warns of fields that the API server does not know in what the controller writes, and names the CRD only of the checkout', async () => {
  const events: DevloopEvent[] = [];
  const notice = createPrunedNotice(nowhere, { emit: (event) => void events.push(event), signal });
  const warnings = [
    'unknown field "spec.items[0].colour"',
    'unknown field "spec.items[1].colour"',
    'old API',
  ];
  const call = { id: 'c-000001', verb: 'update', group: 'shop', kind: 'Paint', warnings };
  notice.observe({ type: 'call', at: '', ms: 1, ...call });
  notice.observe(
    partly<Extract<DevloopEvent, { type: 'reconcile' }>>({
      type: 'reconcile',
      calls: [call, { ...call, group: 'apps', kind: 'Deployment' }],
    }),
  );
  await eventually(async () => expect(events).toHaveLength(2));
  const fields = ['spec.items[].colour'];
  // The one without a command is there at once.
  expect(
    events.toSorted((one, other) => JSON.stringify(one).length - JSON.stringify(other).length),
  ).toMatchObject([
    { code: 'fields.pruned', values: { kind: 'Deployment', fields } },
    { code: 'fields.pruned', values: { kind: 'Paint', fields, command: expect.any(String) } },
  ]);
});

it('is silent while the session ends', async () => {
  const events: DevloopEvent[] = [];
  const signal = AbortSignal.abort();
  const notice = createPrunedNotice(nowhere, { emit: (event) => void events.push(event), signal });
  const call = partly<Extract<DevloopEvent, { type: 'call' }>>({
    type: 'call',
    group: 'shop',
    kind: 'Paint',
  });
  notice.observe({ ...call, warnings: ['unknown field "spec.colour"'] });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(events).toEqual([]);
});
