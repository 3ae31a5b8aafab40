/** The SSH route against OpenSSH in the same run. */
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../cluster/run.ts';
import { startSshd, type TestSshd } from '../support/sshd/sshd.ts';
import { control, note, report } from './figures.ts';
import { median, ROUNDS, Rounds, shuffled, type Taken } from './measure.ts';
import { answers, buildLoad, type Load, type Measured } from './tunnel/load.ts';
import {
  AUTOSSH,
  LOOP,
  OURS,
  PLAIN,
  SESSION,
  SESSION_AGAIN,
  type Subject,
  startSubject,
} from './tunnel/subjects.ts';
import { wan } from './tunnel/wan.ts';

const LOAD_MS = Number(process.env.BENCH_LOAD_MS ?? 1_000);
const DROPS = 15;
const DROPS_EACH = 3;
const HOLES = 3;
const HOLE_MS = 15_000;
const MEGABYTES = 100;

const LOADS = {
  'new-1': ['new', 1],
  'keep-1': ['keep', 1],
  'keep-16': ['keep', 16],
  'keep-64': ['keep', 64],
} as const;

export async function tunnelFigures(): Promise<void> {
  await using load = await buildLoad();
  await using sshd = await startSshd(['GatewayPorts yes']);
  await likeLoopback(sshd);
  await dataPath(sshd, load);
  await wan(sshd, load);
  await drops(sshd, load);
  await blackHoles(sshd, load);
}

/**
 * Sends a whole request in one segment, as on loopback. If segments are small, Linux acknowledges the first one of a request at once, and
 * the 40 ms that `ssh -N` waits for acknowledgements occur less often.
 */
async function likeLoopback({ network }: TestSshd): Promise<void> {
  const [program, ...enter] = network.enter;
  await run('ip', ['link', 'set', network.link, 'mtu', '65535']);
  await run(program!, [...enter, 'ip', 'link', 'set', 'eth0', 'mtu', '65535']);
}

async function dataPath(sshd: TestSshd, load: Load): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const subjects: Subject[] = [];
  for (const name of [OURS, PLAIN, SESSION, SESSION_AGAIN]) {
    subjects.push(stack.use(await startSubject(name, sshd, load.here)));
  }
  const figures = new Map<string, Rounds>(subjects.map(({ name }) => [name, new Rounds()]));
  // The first round is only a warm-up.
  for (let round = -1; round < ROUNDS; round++) {
    for (const subject of shuffled(subjects)) {
      const taken = await measure(sshd, load, subject);
      if (round >= 0) figures.get(subject.name)!.add(taken);
    }
  }
  show(figures);
}

async function measure({ address }: TestSshd, { requests, bulk }: Load, { ports }: Subject): Promise<Taken> {
  const taken: Taken = {};
  const [tls, plain] = ports();
  for (const [name, [kind, concurrency]] of Object.entries(LOADS)) {
    const figures: Measured = await requests(kind, address, tls, concurrency, LOAD_MS);
    for (const [what, value] of Object.entries(figures)) taken[`${name} ${what}`] = value;
  }
  taken.up = await bulk('up', address, plain, MEGABYTES);
  taken.down = await bulk('down', address, plain, MEGABYTES);
  return taken;
}

function show(figures: Map<string, Rounds>): void {
  const of = (subject: string, what: string): number => figures.get(subject)!.median(what);
  const against = (anchor: string, what: string) => ({
    ours: of(OURS, what),
    anchor: { name: anchor, value: of(anchor, what) },
  });
  for (const what of ['new-1 p50Ms', 'keep-1 p50Ms', 'keep-16 perSecond', 'up', 'down']) {
    control(what, of(SESSION_AGAIN, what) / of(SESSION, what));
  }
  for (const [name, anchor, what, most] of [
    ['ssh: new TLS connection, p50', PLAIN, 'new-1 p50Ms', 0.15],
    ['ssh: new TLS connection, p50', SESSION, 'new-1 p50Ms', 1.3],
    ['ssh: kept connection, p50', SESSION, 'keep-1 p50Ms', 2],
    ['ssh: kept connection, p99', SESSION, 'keep-1 p99Ms', 2],
  ] as const)
    report({ name, ...against(anchor, what), unit: 'ms', goal: { most } });
  for (const [name, what, unit, least] of [
    ['ssh: requests, 16 kept connections', 'keep-16 perSecond', '/s', 0.5],
    ['ssh: requests, 64 kept connections', 'keep-64 perSecond', '/s', 0.5],
    ['ssh: bulk to this machine', 'up', 'MB/s', 0.75],
    ['ssh: bulk from this machine', 'down', 'MB/s', 0.75],
  ] as const)
    report({ name, ...against(SESSION, what), unit, goal: { least } });
  const count = (name: string, ours: number): void => report({ name, ours, unit: '', goal: { most: 0 } });
  count('ssh: requests of 38 to 48 ms on a kept connection', figures.get(OURS)!.sum('keep-1 delayed'));
  note(`${PLAIN}: ${figures.get(PLAIN)!.sum('keep-1 delayed')} such requests`);
  const failed = Object.keys(LOADS).map((name) => figures.get(OURS)!.sum(`${name} failed`));
  count(
    'ssh: failed requests',
    failed.reduce((sum, one) => sum + one),
  );
}

/** Kills every session of sshd, and starts a new tunnel now and then: autossh slows down when connections are short. */
async function drops(sshd: TestSshd, load: Load): Promise<void> {
  const times = new Map<string, number[]>([OURS, AUTOSSH].map((name) => [name, []]));
  for (let group = 0; group < DROPS / DROPS_EACH; group++) {
    for (const name of shuffled([OURS, AUTOSSH])) {
      await using subject = await startSubject(name, sshd, load.here);
      for (let drop = 0; drop < DROPS_EACH; drop++) {
        const started = performance.now();
        await sshd.killSessions();
        times.get(name)!.push(await untilServing(sshd, subject, started));
      }
    }
  }
  report({
    name: 'ssh: killed session to serving again',
    ours: median(times.get(OURS)!),
    unit: 'ms',
    anchor: { name: AUTOSSH, value: median(times.get(AUTOSSH)!) },
    goal: { most: 0.5 },
  });
}

/** No packet gets through for a while, as when a laptop sleeps. Both tunnels are interrupted in the same way. */
async function blackHoles(sshd: TestSshd, load: Load): Promise<void> {
  const times = new Map<string, number[]>([OURS, LOOP].map((name) => [name, []]));
  for (let hole = 0; hole < HOLES; hole++) {
    await using stack = new AsyncDisposableStack();
    const subjects: Subject[] = [];
    for (const name of [OURS, LOOP]) subjects.push(stack.use(await startSubject(name, sshd, load.here)));
    await sshd.network.cut();
    await sleep(HOLE_MS);
    await sshd.network.mend();
    const started = performance.now();
    await Promise.all(
      subjects.map(async (subject) =>
        times.get(subject.name)!.push(await untilServing(sshd, subject, started)),
      ),
    );
  }
  const ours = median(times.get(OURS)!);
  const name = `ssh: link back after ${HOLE_MS / 1000} s to serving`;
  const anchor = { name: LOOP, value: median(times.get(LOOP)!) };
  report({ name, ours, unit: 'ms', anchor, goal: { most: 0.5 } });
  report({ name, ours, unit: 'ms', goal: { most: 2_000 } });
  note(`every time: ${times.get(OURS)!.map(Math.round).join(', ')} ms`);
}

async function untilServing(sshd: TestSshd, subject: Subject, started: number): Promise<number> {
  const deadline = performance.now() + 60_000;
  while (!(await answers(sshd.address, subject.ports()[1]))) {
    if (performance.now() > deadline) throw new Error(`${subject.name} did not come back within 60 s`);
    await sleep(5);
  }
  return performance.now() - started;
}
