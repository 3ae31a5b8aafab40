import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Checkout } from '../../src/checkout/files.ts';
import type { ReviewRecord } from '../../src/reviews/record.ts';
import { writeSet } from '../../src/reviews/sets.ts';
import { recordOf } from '../../src/reviews/summarize.ts';
import { startManager } from '../../src/session/verify/manager.ts';
import { startNoCluster } from '../../src/session/verify/no-cluster.ts';
import { BIN } from '../support/devloop.ts';
import { checkoutSample } from '../support/sample-operator.ts';
import { settingsOf } from '../support/settings.ts';

const PORT = 9443;
const WEBHOOK = 'internal/webhook/v1/application_webhook.go';
const MUTATES = '/mutate-apps-example-com-v1-application';
const VALIDATES = '/validate-apps-example-com-v1-application';

/** Not part of `npm test`: without a cache, compiling a test of an operator takes minutes. */
it("an exported Go test passes in the operator's own suite, and fails after an edit that changes an answer", async () => {
  await using checkout = await checkoutSample();
  const cwd = checkout.directory;
  await writeSet(cwd, 'all', { records: await recorded(cwd), replaces: false });
  const exported = devloop(cwd, 'reviews', 'export', '1', '2', '--set', 'all', '--output', 'go');
  await writeFile(join(cwd, 'internal/webhook/v1/recorded_test.go'), exported);
  const goTest = () =>
    spawnSync('go', ['test', '-run', 'TestReview000001', './internal/webhook/v1'], { cwd });
  const passing = goTest();
  expect(passing.status, passing.stdout.toString() + passing.stderr).toBe(0);
  const file = join(cwd, WEBHOOK);
  await writeFile(file, (await readFile(file, 'utf8')).replace('an Application needs an image', 'no'));
  const failing = goTest();
  expect(failing.status).toBe(1);
  expect(failing.stdout.toString()).toMatch(/--- FAIL: TestReview000001\/r-000002/);
  expect(failing.stdout.toString()).not.toMatch(/--- FAIL: TestReview000001\/r-000001/);
});

function devloop(cwd: string, ...args: string[]): Buffer {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], { cwd });
  expect(status, stderr.toString()).toBe(0);
  return stdout;
}

/** The answers of the sample operator. */
async function recorded(checkout: string): Promise<ReviewRecord[]> {
  await using server = await startNoCluster();
  const webhooks = [MUTATES, VALIDATES].map((path) => ({ path, port: PORT }));
  const wanted = { checkout: new Checkout(checkout), settings: settingsOf(), webhooks, readySeconds: 60 };
  const { signal } = new AbortController();
  await using _ = await startManager(wanted, server, {
    emit: () => {},
    signal,
    env: process.env,
    cwd: checkout,
  });
  return [
    await recordedOne('r-000001', MUTATES, { image: 'example:`1`' }),
    await recordedOne('r-000002', VALIDATES, { image: '', replicas: 99 }),
  ];
}

async function recordedOne(id: string, path: string, spec: object): Promise<ReviewRecord> {
  const group = { group: 'apps.example.com', version: 'v1' };
  const object = { apiVersion: 'apps.example.com/v1', kind: 'Application', metadata: { name: 'web' }, spec };
  const asked = {
    uid: id,
    kind: { ...group, kind: 'Application' },
    operation: 'CREATE',
    name: 'web',
    object,
  };
  const review = {
    ...asked,
    resource: { ...group, resource: 'applications' },
    userInfo: { username: 'ann' },
  };
  const body = Buffer.from(
    JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: review }),
  );
  const headers = { 'Content-Type': 'application/json' };
  const outgoing = request({ port: PORT, path, method: 'POST', headers, rejectUnauthorized: false }).end(
    body,
  );
  const [incoming] = await once(outgoing, 'response');
  const answer = { status: 200, headers: [], body: Buffer.concat(await incoming.toArray()) };
  const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };
  return recordOf({ url: path, port: PORT, at: 0, body, answer, ms }, { id, calls: [] });
}
