import { expect, test } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import type { ServedCall } from '../../../src/api-proxy/observed.ts';
import { WrittenLeases } from '../../../src/session/start/written-leases.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/shop/leases';
const ONE = `${LEASES}/election`;
const AGENT = 'manager/v0.0.0 (linux/amd64) kubernetes/$Format/leader-election';

interface Written {
  method?: string;
  url?: string;
  status?: number;
  agent?: string;
  holder?: string;
  body?: string;
}

/** A write as controller-runtime's election makes it, and its answer. */
function written({
  method = 'PUT',
  url = ONE,
  status = 200,
  agent = AGENT,
  holder = 'laptop_1',
  body = lease(holder),
}: Written): ServedCall {
  const answer = { status, headers: {}, body: Buffer.from(body), bytes: body.length };
  return { call: apiCall({ method, url }), at: 0, ms: 1, headers: { 'user-agent': agent }, answer };
}

const lease = (holderIdentity: string, resourceVersion = '7'): string =>
  JSON.stringify({
    ...{ kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', spec: { holderIdentity } },
    metadata: { namespace: 'shop', name: 'election', resourceVersion },
  });

function after(...calls: ServedCall[]) {
  const leases = new WrittenLeases();
  for (const call of calls) leases.served(call);
  return leases.led(() => false);
}

const HELD = {
  ref: { kind: 'Lease', namespace: 'shop', name: 'election' },
  ...{ holder: 'laptop_1', resourceVersion: '7', elects: true },
};

test('the Lease of an election is held as its leader wrote it last', () => {
  expect(after(written({ method: 'POST', url: LEASES, status: 201 }))).toEqual([HELD]);
  const renewed = written({ body: lease('laptop_1', '8') });
  expect(after(written({}), renewed)).toEqual([{ ...HELD, resourceVersion: '8' }]);
  // Somebody else has written since.
  expect(after(written({}), written({ status: 409, body: '{"kind":"Status"}' }))).toEqual([HELD]);
});

test.each<[string, Written]>([
  ['was only read', { method: 'GET' }],
  ['was refused', { status: 403 }],
  ['was given up', { holder: '' }],
  ['was written in a dry run', { url: `${ONE}?dryRun=All` }],
  ['is a heartbeat or a lock, which other clients write', { agent: 'manager/v0.0.0' }],
  ['is another object', { url: '/api/v1/namespaces/shop/configmaps/election' }],
  ['cannot be read', { body: 'k8s\0' }],
  ['is none', { body: '{"kind":"Status","status":"Success"}' }],
  ['is null', { body: 'null' }],
])('a Lease that %s is not held', (_, call) => {
  expect(after(written(call))).toEqual([]);
});

test('a client of another name leads with the Lease that its program calls that of an election', () => {
  const leases = new WrittenLeases();
  leases.served(written({ agent: 'manager/v0.0.0' }));
  expect(leases.led(({ name }) => name === 'election')).toEqual([{ ...HELD, elects: false }]);
});

test('of a program that writes many Leases, the last ones are kept', () => {
  const many = Array.from({ length: 100 }, (_, at) =>
    written({ body: lease('laptop_1').replace('"election"', `"election-${at}"`) }),
  );
  expect(after(...many).length).toBeLessThan(70);
  expect(after(...many, written({}))).toContainEqual(HELD);
});
