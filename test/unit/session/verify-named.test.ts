import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { kubeconfigOf } from '../../../src/cluster/api/kubeconfig.ts';
import { verifySet } from '../../../src/session/verify.ts';
import { freePort } from '../../support/free-port.ts';
import { reviewOf } from '../../support/session-facts.ts';
import { directoryWith } from '../controller/support/places.ts';

/** An API server that shows its version, and nothing else. */
async function apiServer() {
  const asked: (string | undefined)[] = [];
  const server = createServer(({ url }, response) => {
    asked.push(url);
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403 };
    const isOpen = url === '/version' || url === '/readyz';
    response.writeHead(isOpen ? 200 : 403, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isOpen ? { gitVersion: 'v1.36.0' } : status));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, kubeconfig: JSON.stringify(kubeconfigOf('test', { server: url }, {})) };
}

/** Asks the API server of the first file in KUBECONFIG for `/of-the-manager`, and serves nothing. */
const MANAGER = `
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { request as plainRequest } from 'node:http';
const { clusters, users } = JSON.parse(readFileSync(process.env.KUBECONFIG.split(':')[0], 'utf8'));
const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
const send = server.startsWith('https:') ? request : plainRequest;
const headers = { authorization: 'Bearer ' + users?.[0].user.token };
send(server + '/of-the-manager', { headers, ca: Buffer.from(ca ?? '', 'base64') }, (answer) => {
  answer.resume();
  answer.on('end', () => process.exit(1));
}).end();
`;

it('the manager of verify stays with the API server that was named, although the kubeconfig changes during the build', async () => {
  const [named, other] = [await apiServer(), await apiServer()];
  const controller = {
    build: ['cp', 'other.json', 'kubeconfig.json'],
    run: [process.execPath, 'manager.mjs'],
    readySeconds: 20,
  };
  const checkout = await directoryWith({
    'manager.mjs': MANAGER,
    'devloop.yaml': JSON.stringify({ controller }),
    'kubeconfig.json': named.kubeconfig,
    'other.json': other.kubeconfig,
    '.git/HEAD': '',
  });
  const records = [{ v: 1 as const, ...reviewOf(1, { port: await freePort() }), request: {}, response: {} }];
  const set = { name: 'web', checkout, records, withSideEffects: false, apiServer: 'kubeconfig.json' };
  const env = { ...process.env, XDG_STATE_HOME: join(checkout, 'state') };
  const { signal } = new AbortController();
  const io = { emit: () => {}, env, cwd: checkout, signal, onCluster: () => {} };
  await expect(verifySet(set, io)).rejects.toMatchObject({ code: 'controller.exited' });
  expect(named.asked).toContain('/of-the-manager');
  expect(other.asked).toEqual([]);
});
