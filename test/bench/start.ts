import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRecording } from '../../src/reviews/recording.ts';
import { recordOf } from '../../src/reviews/summarize.ts';
import { thisMachine } from '../../src/session/context/local-machine.ts';
import { claimDirectory, newSessionId } from '../../src/session/context/session-directories.ts';
import { BIN } from '../support/devloop.ts';
import { report } from './figures.ts';
import { timeCommands } from './measure.ts';

const START_ROUNDS = 20;
/**
 * The reviews of a short session and of a long one. Node alone, if it reads and parses the long one, takes about 1.5 times as long as with
 * `-e 0`.
 */
const REVIEWS = [100, 1_000];

/** How long devloop takes to print something, against an empty Node. */
export async function startFigures(): Promise<void> {
  const node = process.execPath;
  const times = timeCommands(
    {
      node: [node, '-e', '0'],
      version: [node, BIN, '--version'],
      help: [node, BIN, '--help'],
    },
    START_ROUNDS,
    process.env,
  );
  const anchor = { name: 'node -e 0', value: times.node! };
  report({ name: 'devloop --version', ours: times.version!, unit: 'ms', anchor, goal: { most: 1.1 } });
  report({ name: 'devloop --help', ours: times.help!, unit: 'ms', anchor, goal: { most: 1.5 } });
  for (const reviews of REVIEWS) await listFigure(reviews);
}

async function listFigure(reviews: number): Promise<void> {
  await using session = await recordedSession(reviews);
  const commands = {
    node: [process.execPath, '-e', '0'],
    list: [process.execPath, BIN, 'reviews', 'list'],
  };
  const times = timeCommands(commands, START_ROUNDS, { ...process.env, XDG_STATE_HOME: session.state });
  const anchor = { name: 'node -e 0', value: times.node! };
  const name = `devloop reviews list of ${reviews} reviews`;
  report({ name, ours: times.list!, unit: 'ms', anchor, goal: { most: 1.5 } });
}

/** The files that a session of this process would leave on the disk. */
async function recordedSession(reviews: number): Promise<AsyncDisposable & { state: string }> {
  const state = await mkdtemp(join(tmpdir(), 'devloop-bench-'));
  const machine = await thisMachine({ ...process.env, XDG_STATE_HOME: state });
  const directory = await claimDirectory(machine, newSessionId(), { checkout: state });
  const recording = createRecording(directory);
  for (let number = 1; number <= reviews; number++) recording.add(recorded(number));
  await recording.flush();
  return { state, [Symbol.asyncDispose]: () => rm(state, { recursive: true }) };
}

function recorded(number: number): ReturnType<typeof recordOf> {
  const [group, version, kind] = ['apps.example.com', 'v1', 'Application'];
  const metadata = { name: `web-${number}`, namespace: 'default' };
  const object = { apiVersion: `${group}/${version}`, kind, metadata, spec: { image: 'example:1' } };
  const request = {
    ...{
      uid: `u-${number}`,
      kind: { group, version, kind },
      resource: { group, version, resource: 'applications' },
    },
    ...{ operation: 'CREATE', ...metadata, userInfo: { username: 'ann' }, object },
  };
  const patch = Buffer.from('[{"op":"add","path":"/spec/replicas","value":1}]').toString('base64');
  const response = { uid: request.uid, allowed: true, patchType: 'JSONPatch', patch };
  const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' };
  const body = Buffer.from(JSON.stringify({ ...review, request }));
  const answer = { status: 200, headers: [], body: Buffer.from(JSON.stringify({ ...review, response })) };
  const ms = { held: 0, controller: 7, total: 8, budget: 10_000 };
  const id = `r-${String(number).padStart(6, '0')}`;
  return recordOf(
    { url: '/mutate?timeout=10s', port: 9443, at: Date.now(), body, answer, ms },
    { id, calls: [] },
  );
}
