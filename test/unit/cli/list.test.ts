import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { createRecording } from '../../../src/reviews/recording.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import type { ReplayFacts } from '../../../src/session/control/control.ts';
import type { Handlers } from '../../../src/session/control/requests.ts';
import { openSocket } from '../../../src/session/control/socket.ts';
import { partly } from '../../support/partly.ts';
import { Controller } from '../gateway/support.ts';
import { BIN } from './run-bin.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'devloop-list-'));
});
afterEach(() => rmSync(state, { recursive: true }));

function options() {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', NO_COLOR: '1', XDG_STATE_HOME: state };
  return { env, cwd: state, encoding: 'utf8' as const };
}

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], options());
  return { status, stdout, stderr };
}

const PLAIN: ReviewRecord = {
  ...{ v: 1, id: 'r-000001', at: '2026-01-01T10:15:02.000Z', kind: 'admission', webhook: 'v.kb.io' },
  ...{ path: '/v', user: 'ann', operation: 'CREATE', verdict: 'allowed' },
  ms: { held: 0, controller: 7, total: 8, budget: 10_000 },
};

/** A session of this process, with these reviews. */
async function recordSession(
  id: string,
  records: ReviewRecord[] = [PLAIN, { ...PLAIN, id: 'r-000002' }],
): Promise<string> {
  const directory = await claimDirectory(await thisMachine({ XDG_STATE_HOME: state }), id, {
    checkout: state,
  });
  const recording = createRecording(directory);
  for (const record of records) recording.add(record);
  await recording.flush();
  return directory;
}

it('a list without flags, which needs no parser, is the one that a flag which selects everything makes', async () => {
  await recordSession('aaaaaaaa');
  const plain = run('reviews', 'list');
  expect(plain).toMatchObject({
    status: 0,
    stderr: '',
    stdout: expect.stringMatching(/^r-000001 .*\nr-000002 .*\n$/),
  });
  expect(run('reviews')).toEqual(plain);
  expect(run('reviews', 'list', '--slow', '1')).toEqual(plain);
  expect(run('reviews', '--user', 'eve')).toEqual({
    ...plain,
    stdout: '',
    stderr: expect.stringContaining('none'),
  });
});

it('and fails as that one does', async () => {
  expect(run('reviews', 'list')).toEqual(run('reviews', 'list', '--slow', '1'));
  for (const id of ['aaaaaaaa', 'bbbbbbbb']) await recordSession(id);
  const plain = run('reviews', 'list');
  expect(plain).toMatchObject({ status: expect.any(Number), stderr: expect.stringContaining('bbbbbbbb') });
  expect(plain.status).not.toBe(0);
  expect(run('reviews', 'list', '--slow', '1')).toEqual(plain);
});

it('each filter leaves out the reviews that it does not select', async () => {
  const other: ReviewRecord = {
    ...{ ...PLAIN, id: 'r-000002', at: new Date().toISOString(), webhook: 'other.kb.io', user: 'bob' },
    ...{ verdict: 'denied', ms: { ...PLAIN.ms, total: 900 } },
    ...{ resource: { group: '', version: 'v1', kind: 'Pod' }, object: { namespace: 'shop', name: 'web' } },
  };
  const resource = { group: '', version: 'v1', kind: 'Node' };
  await recordSession('aaaaaaaa', [{ ...PLAIN, resource, object: { name: 'n1' } }, other]);
  const filters = [
    ['--kind', 'pod'],
    ['--name', 'we'],
    ['--namespace', 'shop'],
    ['--verdict', 'denied'],
    ['--user', 'bob'],
    ['--webhook', 'other'],
    ['--since', '10m'],
    ['--slow', '500'],
  ];
  for (const filter of filters)
    expect([filter, run('reviews', ...filter)]).toEqual([
      filter,
      { status: 0, stderr: '', stdout: expect.stringMatching(/^r-000002 .*\n$/) },
    ]);
});

const REQUEST = {
  ...{ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' },
  request: { uid: 'u-1', operation: 'CREATE', object: { metadata: { name: 'web' } } },
};

it('export prints the AdmissionReview as it came', async () => {
  await recordSession('aaaaaaaa', [{ ...PLAIN, request: REQUEST }]);
  const { status, stdout, stderr } = run('reviews', 'export', '1');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual(REQUEST);
});

it('replay leaves out reviews of webhooks with side effects, unless --side-effects asks for them', async () => {
  const controller = new Controller((_, response) => response.end('{"response":{"allowed":true}}'));
  await controller.start();
  const response = { response: { allowed: true } };
  const review = { ...PLAIN, port: 9443, request: REQUEST, response, sideEffects: 'Some' };
  const directory = await recordSession('aaaaaaaa', [review]);
  const replaying = (): ReplayFacts => ({ paths: [], ports: [[9443, controller.port]] });
  await using _ = await openSocket(directory, partly<Handlers>({ replaying }), () => {});
  const replay = async (...flags: string[]): Promise<string> => {
    const args = [BIN, 'reviews', 'replay', ...flags];
    return (await promisify(execFile)(process.execPath, args, options())).stdout;
  };
  try {
    expect(await replay()).toContain('--side-effects');
    expect(controller.seen).toEqual([]);
    expect(await replay('--side-effects')).toContain('0 of 1 answer changed');
    expect(controller.seen).toHaveLength(1);
  } finally {
    await controller.stop();
  }
});
