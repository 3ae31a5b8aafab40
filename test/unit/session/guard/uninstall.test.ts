import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import type { Kind } from '../../../../src/cluster/api/kinds.ts';
import type { DevloopError } from '../../../../src/errors.ts';
import type { WebhookCall } from '../../../../src/operator/webhooks.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { noticeUninstall } from '../../../../src/session/guard/uninstall.ts';
import { eventually } from '../../../support/eventually.ts';

const GRACE_MS = 50;
const AT_ONCE_MS = 20;

let events: DevloopEvent[];
let ended: DevloopError[];
let notice: (calls: WebhookCall[]) => void;

beforeEach(() => {
  events = [];
  ended = [];
  const { signal } = new AbortController();
  const work = { emit: (event: DevloopEvent) => void events.push(event), signal };
  notice = noticeUninstall(work, (error) => void ended.push(error), {
    graceMs: GRACE_MS,
    atOnceMs: AT_ONCE_MS,
  });
});

const call = (kind: Kind, path = '/'): WebhookCall => ({
  from: { kind, name: 'shop' },
  name: 'hook.example.com',
  path,
  port: 443,
  caBundle: '',
  groups: [],
});
const mutating = call('MutatingWebhookConfiguration');
const validating = call('ValidatingWebhookConfiguration');
const warned = (kind: Kind) => ({
  code: 'guard.caller-gone',
  values: { caller: { kind, name: 'shop' } },
});

it('one configuration that is gone is a warning', async () => {
  notice([mutating, validating]);
  notice([validating]);
  notice([validating, call('ValidatingWebhookConfiguration', '/more')]);
  await pause(2 * GRACE_MS);
  expect(events).toMatchObject([warned('MutatingWebhookConfiguration')]);
  expect(ended).toEqual([]);
});

it('all of them are an operator that is uninstalled', async () => {
  notice([mutating, validating]);
  notice([mutating]);
  notice([]);
  await eventually(async () => expect(ended).toMatchObject([{ code: 'target.gone' }]));
});

it('a manager that creates them again as it starts is not', async () => {
  notice([mutating]);
  notice([]);
  notice([mutating]);
  await pause(2 * GRACE_MS);
  expect(ended).toEqual([]);
  expect(events).toEqual([]);
});

it('a Service that no webhook calls is not', async () => {
  notice([]);
  await pause(2 * GRACE_MS);
  expect(ended).toEqual([]);
  expect(events).toEqual([]);
});
