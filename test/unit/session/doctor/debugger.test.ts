import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tracingLimitsIn } from '../../../../src/machine/tracing.ts';
import { NotChecked } from '../../../../src/session/doctor/check.ts';
import { tracingFinding } from '../../../../src/session/doctor/debugger.ts';
import { delve } from '../../../support/delve.ts';
import { directoryWith } from '../../controller/support/places.ts';

const { signal } = new AbortController();
const ROOT = 'CapEff:\t000001ffffffffff\nSeccomp:\t0\n';
const CONTAINER = 'CapEff:\t00000000a80425fb\nSeccomp:\t2\n';

it.each([
  ['', ROOT, { isPrivileged: true, isFiltered: false }],
  ['1\n', CONTAINER, { scope: 1, isPrivileged: false, isFiltered: true }],
])('what Linux says is read: %j', (yama, status, expected) => {
  expect(tracingLimitsIn(yama, status)).toEqual(expected);
});

it.each<[number | undefined, boolean, string, RegExp | undefined]>([
  [undefined, false, 'ok', undefined],
  [1, false, 'ok', undefined],
  [2, true, 'ok', undefined],
  [2, false, 'info', /^sudo sysctl /],
  [3, true, 'info', /restart the machine/],
])('ptrace_scope %s, privileged %s: %s', async (scope, isPrivileged, verdict, hint) => {
  const limits = { ...(scope === undefined ? {} : { scope }), isPrivileged, isFiltered: false };
  const found = await tracingFinding('/bin/dlv', limits, signal);
  expect(found.verdict).toBe(verdict);
  if (hint) expect(found.hint).toMatch(hint);
});

const FILTERED = { isPrivileged: false, isFiltered: true };

it('where system calls are filtered, delve debugs a program', async () => {
  expect(await tracingFinding(await delve(), FILTERED, signal)).toMatchObject({ verdict: 'ok' });
}, 120_000);

it.each([
  ['could not launch process: fork/exec /go: operation not permitted', 'info'],
  ['could not open debug info', undefined],
])('a delve that says %j', async (said, verdict) => {
  const directory = await directoryWith({ dlv: `#!/bin/sh\necho '${said}' >&2\nexit 1\n` });
  await chmod(join(directory, 'dlv'), 0o755);
  const found = tracingFinding(join(directory, 'dlv'), FILTERED, signal);
  if (verdict === undefined) await expect(found).rejects.toThrow(NotChecked);
  else expect(await found).toMatchObject({ verdict, answer: expect.stringContaining(said) });
});
