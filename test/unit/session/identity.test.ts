import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { createIdentity } from '../../../src/session/start/identity.ts';
import type { Session } from '../../../src/session/start/session.ts';
import { ACCOUNT, type AccountServer, accountServer } from '../../support/account-server.ts';
import { partly } from '../../support/partly.ts';

interface Asked {
  identity?: string;
  run?: string[];
  manager?: false;
}

async function session({ identity: value, run, manager }: Asked = {}) {
  const server = await accountServer();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const events: DevloopEvent[] = [];
  const template = { spec: { containers: [], serviceAccountName: 'manager' } };
  const ref = { kind: 'Deployment', namespace: 'shop', name: 'shop' } as const;
  const object = { metadata: ref, spec: { selector: {}, template } };
  const settings = {
    ...{ identity: { value, from: [] }, api: { value: 'proxy', from: [] } },
    ...{ 'controller.run': { value: run, from: [] } },
  };
  const session = partly<Session>({
    context: { api: server.api, settings } as never,
    options: { controller: true } as never,
    target: {
      ...{ namespace: 'shop', services: [] },
      ...(manager === false ? {} : { manager: { ref, object, container: { name: '' }, source: '' } }),
    },
  });
  const { signal } = new AbortController();
  const identity = createIdentity(session, { api: server.api, emit: (one) => void events.push(one), signal });
  onTestFinished(() => identity[Symbol.dispose]());
  return { server, identity, events };
}

type Parts = Awaited<ReturnType<typeof session>>;

/** Whom the API server sees when the controller asks something. */
async function seen({ identity }: Pick<Parts, 'identity'>, headers = {}) {
  const { signal } = new AbortController();
  const sent = { method: 'GET', path: '/api/v1/pods', headers, body: Buffer.alloc(0), signal };
  const answer = await identity.upstream.forward(sent);
  return { status: answer.statusCode, ...JSON.parse(await text(answer)) };
}

const identities = (events: DevloopEvent[]) =>
  events.flatMap((event) => (event.type === 'controller.identity' ? [event.how] : []));
const codes = (events: DevloopEvent[]) => events.flatMap((event) => ('code' in event ? [event.code] : []));

test('what devloop builds works as the ServiceAccount of the manager, with a token and without the client certificate', async () => {
  const parts = await session();
  expect(await seen(parts)).toEqual({ status: 200, user: 'ann' });
  await parts.identity.settle();
  expect(await seen(parts)).toEqual({ status: 200, user: ACCOUNT });
  expect(parts.events).toEqual([{ type: 'controller.identity', how: 'token', account: ACCOUNT }]);
  expect(parts.identity.username()).toBe(ACCOUNT);
});

test('with a token, the account itself may impersonate others', async () => {
  const parts = await session();
  await parts.identity.settle();
  expect(await seen(parts, { 'impersonate-user': 'bob' })).toEqual({ status: 200, user: 'bob' });
});

test('who may not create tokens impersonates the account, for which nothing can be impersonated', async () => {
  const parts = await session();
  parts.server.may.token = false;
  await parts.identity.settle();
  expect(identities(parts.events)).toEqual(['impersonation']);
  expect(await seen(parts)).toEqual({ status: 200, user: ACCOUNT });
  for (const header of ['impersonate-user', 'impersonate-group', 'Impersonate-Extra-x'])
    expect(await seen(parts, { [header]: 'bob' })).toMatchObject({ code: 403, kind: 'Status' });
});

interface Hindrance {
  causes: object;
  isMissing?: boolean;
  change(server: AccountServer): void;
}

const HINDRANCES: Record<string, Hindrance> = {
  'the account does not exist': {
    causes: { token: 'NotFound here' },
    isMissing: true,
    change: ({ has }) => void Object.assign(has, { account: false }),
  },
  'neither is allowed': {
    causes: { token: 'Forbidden here', impersonation: 'Forbidden here' },
    change: ({ may }) => void Object.assign(may, { impersonate: false, token: false }),
  },
};

test.each(Object.entries(HINDRANCES))(
  'if %s, the controller works as the user, and one warning says why',
  async (_, { causes, isMissing = false, change }) => {
    const parts = await session();
    change(parts.server);
    await parts.identity.settle();
    expect(await seen(parts)).toEqual({ status: 200, user: 'ann' });
    expect(codes(parts.events)).toEqual(['identity.as-user']);
    expect(parts.events[0]).toMatchObject({ values: { causes, isMissing } });
    expect(parts.identity.username()).toBeUndefined();
  },
);

test.each(['serviceaccount', 'shop/manager'])('%s on demand is all or nothing', async (identity) => {
  const parts = await session({ identity });
  parts.server.may.impersonate = false;
  parts.server.may.token = false;
  await expect(parts.identity.settle()).rejects.toMatchObject({ code: 'identity.refused' });
  expect(parts.events).toEqual([]);
});

test('a token that proves to be of somebody else is not used', async () => {
  const parts = await session({ identity: 'shop/other' });
  parts.server.may.impersonate = false;
  await expect(parts.identity.settle()).rejects.toMatchObject({ code: 'identity.refused' });
});

test('where the API server does not say who somebody is, the token has to be accepted', async () => {
  const parts = await session();
  parts.server.has.reviews = false;
  await parts.identity.settle();
  expect(identities(parts.events)).toEqual(['token']);
});

test.each([{ identity: 'me' }, { run: ['bin/manager'] }, { manager: false }] as Asked[])(
  'with %j, the controller works as the user',
  async (asked) => {
    const parts = await session(asked);
    await parts.identity.settle();
    expect(await seen(parts)).toEqual({ status: 200, user: 'ann' });
    expect([identities(parts.events), codes(parts.events)]).toEqual([['user'], []]);
    expect(parts.server.issued).toBe(0);
  },
);

test('a command works as the account on demand', async () => {
  const parts = await session({ run: ['bin/manager'], identity: 'serviceaccount' });
  await parts.identity.settle();
  expect(await seen(parts)).toEqual({ status: 200, user: ACCOUNT });
});

test('without a manager, the account has to be named', async () => {
  const parts = await session({ manager: false, identity: 'serviceaccount' });
  await expect(parts.identity.settle()).rejects.toMatchObject({ code: 'identity.refused' });
});

test('if the account is deleted, calls get the answer of the API server, and one warning names it', async () => {
  const parts = await session();
  await parts.identity.settle();
  parts.server.has.account = false;
  expect(await seen(parts)).toMatchObject({ code: 401 });
  expect(await seen(parts)).toMatchObject({ code: 401 });
  expect(parts.events.slice(1)).toMatchObject([{ code: 'identity.no-token', values: { status: 404 } }]);
});

test('a token that is no longer accepted is replaced, and the call is made again', async () => {
  const parts = await session();
  await parts.identity.settle();
  parts.server.tokens.clear();
  expect(await seen(parts)).toEqual({ status: 200, user: ACCOUNT });
  expect([parts.server.issued, codes(parts.events)]).toEqual([2, []]);
});

test('the user can go on as themselves', async () => {
  const parts = await session();
  await parts.identity.settle();
  parts.identity.asUser();
  expect(await seen(parts)).toEqual({ status: 200, user: 'ann' });
  expect(identities(parts.events)).toEqual(['token', 'user']);
  expect(() => parts.identity.asUser()).toThrow(expect.objectContaining({ code: 'session.not-ready' }));
  expect(parts.identity.username()).toBeUndefined();
});
