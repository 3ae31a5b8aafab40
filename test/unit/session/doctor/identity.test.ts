import { expect, onTestFinished, test } from 'vitest';
import { identityCheck } from '../../../../src/session/doctor/identity.ts';
import { accountServer } from '../../../support/account-server.ts';

/** The finding for a manager whose ServiceAccount is shop/manager. */
async function finding(may: { token: boolean; impersonate: boolean }, identity?: string) {
  const server = await accountServer();
  onTestFinished(() => server[Symbol.asyncDispose]());
  Object.assign(server.may, may);
  const settings = {
    ...{ identity: { value: identity }, api: { value: 'proxy' }, 'controller.run': { value: undefined } },
  };
  const spec = { containers: [], serviceAccountName: 'manager' };
  const manager = { ref: { namespace: 'shop' }, object: { spec: { template: { spec } } } };
  const run = {
    context: Promise.resolve({ api: server.api, settings }),
    operator: Promise.resolve({ target: { namespace: 'shop', manager } }),
  };
  return await identityCheck.run(run as never, new AbortController().signal);
}

test.each([
  [{ token: true, impersonate: false }, 'ok', '(token)'],
  [{ token: false, impersonate: true }, 'ok', '(impersonation)'],
  [{ token: false, impersonate: false }, 'warn', ''],
])('with %j, the verdict is %s %s', async (may, verdict, way) => {
  expect(await finding(may)).toMatchObject({ verdict, answer: expect.stringContaining(way) });
});

test('what up refuses, doctor fails with the same code', async () => {
  const neither = { token: false, impersonate: false };
  expect(await finding(neither, 'serviceaccount')).toMatchObject({
    verdict: 'fail',
    code: 'identity.refused',
  });
  expect(await finding(neither, 'me')).toMatchObject({ verdict: 'ok' });
});
