import { loadavg } from 'node:os';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { type Subjects, startSubjects, WAYS } from './api/subjects.ts';
import { control, note, report } from './figures.ts';
import { ROUNDS, Rounds, shuffled, type Taken } from './measure.ts';

const OBJECTS = 5_000;
const RECORDED = 5_000;
const GETS = 300;
const LISTS = 3;
const EVENTS = 100;
const WRITES = 500;
const AT_ONCE = 8;
const JSON_TYPE = 'application/json';
const TYPES = {
  JSON: JSON_TYPE,
  protobuf: `application/vnd.kubernetes.protobuf,${JSON_TYPE}`,
};

/** The API proxy, with its recorder, against the same client straight to kube-apiserver. */
export async function apiFigures(): Promise<void> {
  await using cluster = await startCluster({
    certManager: false,
    pods: false,
    log: (line) => console.error(line),
  });
  // In processes of their own, since those that have carried lists have more memory to use again.
  await memoryFigure(cluster);
  await using subjects = await startSubjects(cluster);
  const rounds = new Rounds();
  for (let round = 0; round <= ROUNDS; round++) {
    const taken = await oneRound(subjects);
    if (round > 0) rounds.add(taken);
  }
  callFigures(rounds);
  listFigures(rounds);
  note(
    `load of the machine: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  );
}

async function oneRound({ load }: Subjects): Promise<Taken> {
  const taken: Taken = {};
  for (const name of shuffled(['direct', 'again', 'devloop', 'silent'] as const))
    taken[`${name} get`] = (await load('get', name === 'again' ? 'direct' : name, GETS)).p50Ms!;
  for (const name of shuffled(WAYS))
    taken[`${name} writes`] = (await load('write', name, AT_ONCE, WRITES)).perSecond!;
  for (const [type, accept] of Object.entries(TYPES)) {
    for (const name of shuffled(WAYS)) {
      taken[`${name} ${type} plain`] = (await load('list', name, accept, 'plain', LISTS)).p50Ms!;
      taken[`${name} ${type} gzip`] = (await load('list', name, accept, 'gzip', LISTS)).p50Ms!;
    }
  }
  const { directMs, addedMs } = await load('watch', 'devloop', EVENTS);
  return { ...taken, 'direct event': directMs!, 'added event': addedMs! };
}

function callFigures(rounds: Rounds): void {
  const median = (what: string): number => rounds.median(what);
  const ms = (what: string): string => `${median(what).toFixed(2)} ms`;
  control('kube-apiserver alone', median('again get') / median('direct get'));
  report({
    name: 'what the API proxy adds to the p50 of a GET',
    ours: median('devloop get') - median('direct get'),
    unit: 'ms',
    goal: { most: 1 },
  });
  note(`${ms('devloop get')}, without the recorder ${ms('silent get')}, straight ${ms('direct get')}`);
  report({
    name: `API proxy: writes a second, ${AT_ONCE} at once`,
    ours: median('devloop writes'),
    unit: '/s',
    anchor: { name: 'straight', value: median('direct writes') },
    goal: { least: 0.65 },
  });
  note(`without the recorder ${median('silent writes').toFixed(0)} /s`);
  report({
    name: 'what the API proxy adds to the time until an event of a watch arrives',
    ours: median('added event'),
    unit: 'ms',
    goal: { most: 2 },
  });
  note(`straight, ${ms('direct event')} after the write was sent`);
}

function listFigures(rounds: Rounds): void {
  for (const [type, most] of [
    ['JSON', 1.8],
    ['protobuf', 1.3],
  ] as const) {
    report({
      name: `API proxy: list of ${OBJECTS} objects as ${type}`,
      ours: rounds.median(`devloop ${type} plain`),
      unit: 'ms',
      anchor: { name: 'straight', value: rounds.median(`direct ${type} plain`) },
      goal: { most },
    });
    const zipped = (name: string): number => rounds.median(`${name} ${type} gzip`);
    const ratio = (zipped('devloop') / zipped('direct')).toFixed(2);
    note(
      `compressed, as client-go asks for it: ${ratio} x (${zipped('devloop').toFixed(0)} ms; straight: ${zipped('direct').toFixed(0)} ms)`,
    );
  }
}

/** Each call changes another object, so that as many versions as fit are remembered. */
async function memoryFigure(cluster: TestCluster): Promise<void> {
  await using subjects = await startSubjects(cluster);
  await subjects.load('fill', OBJECTS);
  const memory: Record<string, number> = {};
  for (const name of ['silent', 'devloop'] as const) {
    await subjects.load('get', name, GETS);
    const before = await subjects.memoryOf(name);
    await subjects.load('write', name, AT_ONCE, RECORDED);
    if (name === 'devloop') await subjects.recorded(GETS + RECORDED);
    memory[name] = await subjects.memoryOf(name);
    note(`memory of ${name}: ${before.toFixed(0)} MB before the calls, ${memory[name].toFixed(0)} MB after`);
  }
  report({
    name: `what ${RECORDED} recorded calls add to the memory of the API proxy`,
    ours: memory.devloop! - memory.silent!,
    unit: 'MB',
    goal: { most: 40 },
  });
}
