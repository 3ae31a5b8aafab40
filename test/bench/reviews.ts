import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import { Checkout } from '../../src/checkout/files.ts';
import { startGateway } from '../../src/gateway/gateway.ts';
import { createAnswering } from '../../src/reviews/answering-build.ts';
import { Recorder } from '../../src/reviews/recorder.ts';
import { createRecording } from '../../src/reviews/recording.ts';
import { type Replayed, replay } from '../../src/reviews/replay.ts';
import { recordOf } from '../../src/reviews/summarize.ts';
import { startManager } from '../../src/session/verify/manager.ts';
import { startNoCluster } from '../../src/session/verify/no-cluster.ts';
import { SAMPLE } from '../support/sample-operator.ts';
import { settingsOf } from '../support/settings.ts';
import { control, note, report } from './figures.ts';
import { ROUNDS, Rounds, shuffled } from './measure.ts';
import { loadOf } from './reviews/load.ts';

const PATH = '/mutate-apps-example-com-v1-application';
const PORT = 9443;
const REVIEWS = 1_000;
const AT_ONCE = 4;
const NAME = 'webhook.default.svc';
const NEVER = new AbortController().signal;

/** What recording and a replay cost. The sample operator's webhooks run in a process of their own. */
export async function reviewFigures(): Promise<void> {
  await using server = await startNoCluster();
  const webhooks = [{ path: PATH, port: PORT }];
  const wanted = { checkout: new Checkout(SAMPLE), settings: settingsOf(), webhooks, readySeconds: 60 };
  const io = { emit: () => {}, signal: NEVER, env: process.env, cwd: SAMPLE };
  await using _ = await startManager(wanted, server, io);
  await replayFigure();
  await recordingFigures();
}

async function replayFigure(): Promise<void> {
  const records = await Promise.all(Array.from({ length: REVIEWS }, (_, number) => recorded(number)));
  const rounds = new Rounds();
  for (let round = 0; round <= ROUNDS; round++) {
    const taken: Record<string, number> = {};
    for (const what of shuffled(['replay', 'alone', 'again'])) {
      const started = performance.now();
      if (what === 'replay') await replayAll(records);
      else await sendAll(records.map((record) => JSON.stringify(record.request)));
      taken[what] = performance.now() - started;
    }
    if (round > 0) rounds.add(taken);
  }
  control(`${REVIEWS} reviews without devloop`, rounds.median('again') / rounds.median('alone'));
  report({
    name: `replay of ${REVIEWS} reviews`,
    ours: rounds.median('replay'),
    unit: 'ms',
    anchor: { name: 'the same requests alone', value: rounds.median('alone') },
    goal: { most: 1.3 },
  });
}

async function replayAll(records: Awaited<ReturnType<typeof recorded>>[]): Promise<void> {
  const onReplayed = ({ result }: Replayed): void => {
    if (result !== 'same') throw new Error(`a replayed review is ${result}`);
  };
  const options = { paths: [], withSideEffects: false, atOnce: AT_ONCE, signal: NEVER, onReplayed };
  const { replayed } = await replay(records, options);
  if (replayed !== REVIEWS) throw new Error(`${replayed} of ${REVIEWS} reviews were replayed`);
}

async function sendAll(bodies: string[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const waiting = [...bodies];
  const client = async (): Promise<void> => {
    for (let body = waiting.pop(); body !== undefined; body = waiting.pop()) await post(body, agent);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  agent.destroy();
}

function post(body: string, agent?: Agent): Promise<Buffer> {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  const target = { host: '127.0.0.1', port: PORT, path: PATH, method: 'POST', rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    request({ ...target, headers, ...(agent ? { agent } : {}) }, (incoming) => {
      incoming.toArray().then((chunks) => resolve(Buffer.concat(chunks)), reject);
    })
      .on('error', reject)
      .end(body);
  });
}

async function recorded(number: number) {
  const body = Buffer.from(reviewOf(`web-${number}`));
  const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };
  const answer = { status: 200, headers: [], body: await post(body.toString()) };
  return recordOf({ url: PATH, port: PORT, at: 0, body, answer, ms }, { id: `r-${number}`, calls: [] });
}

/** The review as kube-apiserver sends it for an Application. */
function reviewOf(name: string): string {
  const kind = { group: 'apps.example.com', version: 'v1', kind: 'Application' };
  const resource = { group: 'apps.example.com', version: 'v1', resource: 'applications' };
  const object = {
    apiVersion: 'apps.example.com/v1',
    kind: 'Application',
    metadata: { name, namespace: 'default' },
  };
  const managedFields = [
    { manager: 'kubectl', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:image': {} } } },
  ];
  const full = { ...object, metadata: { ...object.metadata, managedFields }, spec: { image: 'example:1' } };
  const asked = { uid: name, kind, resource, operation: 'CREATE', namespace: 'default', name, object: full };
  const review = {
    ...asked,
    userInfo: { username: 'ann' },
    options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
  };
  return JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: review });
}

async function recordingFigures(): Promise<void> {
  const rounds = new Rounds();
  for (let round = 0; round <= ROUNDS; round++) {
    const taken: Record<string, number> = {};
    for (const what of shuffled(['plain', 'recorded'])) {
      const { perSecond, p50 } = await throughGateway(what === 'recorded');
      Object.assign(taken, { [`${what} per second`]: perSecond, [`${what} p50`]: p50 });
    }
    if (round > 0) rounds.add(taken);
  }
  report({
    name: 'reviews a second with recording',
    ours: rounds.median('recorded per second'),
    unit: '/s',
    anchor: { name: 'without', value: rounds.median('plain per second') },
    goal: { least: 0.9 },
  });
  report({
    name: 'p50 of a review at one client: what recording adds',
    ours: rounds.median('recorded p50') - rounds.median('plain p50'),
    unit: 'ms',
    goal: { most: 0.2 },
  });
  note(`p50 without recording: ${rounds.median('plain p50').toFixed(2)} ms`);
}

async function throughGateway(isRecorded: boolean): Promise<{ perSecond: number; p50: number }> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-bench-'));
  const emit = (): void => {};
  try {
    const options = { answering: createAnswering() };
    await using recorder = new Recorder(createRecording(directory), options, emit);
    await using gateway = await startGateway({
      ...{ host: '127.0.0.1', sessionId: 'bench', controller: { host: '127.0.0.1', port: PORT }, emit },
      ...(isRecorded ? { hooks: { served: recorder.served } } : {}),
    });
    gateway.present(NAME, await selfSignedPair([NAME], { days: 1 }));
    gateway.accept([PATH]);
    return await loadOf({ port: gateway.port, path: PATH, serverName: NAME, body: reviewOf('web') });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
