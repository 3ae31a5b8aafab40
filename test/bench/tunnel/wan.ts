import type { TestSshd } from '../../support/sshd/sshd.ts';
import { control, note, report } from '../figures.ts';
import { ROUNDS, Rounds, shuffled, type Taken } from '../measure.ts';
import type { Enter, Load } from './load.ts';
import { createSlowLink, type SlowLink } from './slow-link.ts';
import { OURS, PLAIN, SESSION, SESSION_AGAIN, type Subject, startSubject } from './subjects.ts';

const DIRECT = 'direct TCP';
const LOAD_MS = 2_000;
const MEGABYTES = 40;
const BULK_RTT_MS = 50;
const RTTS_MS = [20, BULK_RTT_MS];
/** Opening a connection, the TLS handshake and the request take three round trips. */
const MOST_ROUND_TRIPS = 3.5;
const LEAST_BULK = 0.6;

/** The tunnel over a link with a round-trip time. The caller is beside sshd, as kube-apiserver is. */
export async function wan(sshd: TestSshd, load: Load): Promise<void> {
  for (const rttMs of RTTS_MS) show(await overLink(sshd, load, rttMs), rttMs);
}

async function overLink(sshd: TestSshd, load: Load, rttMs: number): Promise<Map<string, Rounds>> {
  await using stack = new AsyncDisposableStack();
  const link = stack.use(await createSlowLink(load.program, sshd, rttMs));
  const subjects = [stack.use(await direct(load, link))];
  for (const name of [OURS, PLAIN, SESSION, SESSION_AGAIN]) {
    subjects.push(stack.use(await startSubject(name, link.host, load.here)));
  }
  const figures = new Map<string, Rounds>(subjects.map(({ name }) => [name, new Rounds()]));
  // The first round is only a warm-up.
  for (let round = -1; round < ROUNDS; round++) {
    for (const subject of shuffled(subjects)) {
      const taken = await measure(load, subject, {
        enter: sshd.network.enter,
        address: subject.name === DIRECT ? link.here : link.host.address,
        bulk: rttMs === BULK_RTT_MS,
      });
      if (round >= 0) figures.get(subject.name)!.add(taken);
    }
  }
  return figures;
}

/** Without a tunnel: the caller calls this machine directly. */
async function direct(load: Load, { here }: SlowLink): Promise<Subject> {
  const served = await load.serve(here);
  return {
    name: DIRECT,
    ports: () => served.ports,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

interface How {
  enter: Enter;
  address: string;
  /** Whether bulk transfers are measured besides new connections. */
  bulk: boolean;
}

async function measure(load: Load, { ports }: Subject, { enter, address, bulk }: How): Promise<Taken> {
  const [tls, plain] = ports();
  const { p50Ms, failed } = await load.requests('new', address, tls, 1, LOAD_MS, enter);
  if (!bulk) return { p50Ms, failed };
  const up = await load.bulk('up', address, plain, MEGABYTES, enter);
  const down = await load.bulk('down', address, plain, MEGABYTES, enter);
  return { p50Ms, failed, up, down };
}

function show(figures: Map<string, Rounds>, rttMs: number): void {
  const of = (subject: string, what: string): number => figures.get(subject)!.median(what);
  for (const name of [DIRECT, PLAIN, SESSION]) {
    const ms = of(name, 'p50Ms');
    note(`new TLS connection, ${name}: ${(ms / rttMs).toFixed(2)} round trips (${ms.toPrecision(4)} ms)`);
  }
  report({
    name: `ssh: new TLS connection, p50, RTT ${rttMs} ms`,
    ours: of(OURS, 'p50Ms'),
    unit: 'ms',
    anchor: { name: 'one round trip', value: rttMs },
    goal: { most: MOST_ROUND_TRIPS },
  });
  const failed = figures.get(OURS)!.sum('failed');
  report({ name: `ssh: failed requests, RTT ${rttMs} ms`, ours: failed, unit: '', goal: { most: 0 } });
  if (rttMs === BULK_RTT_MS) showBulk(of);
}

function showBulk(of: (subject: string, what: string) => number): void {
  for (const [what, where] of [
    ['up', 'to'],
    ['down', 'from'],
  ] as const) {
    const name = `ssh: bulk ${where} this machine, RTT ${BULK_RTT_MS} ms`;
    control(name, of(SESSION_AGAIN, what) / of(SESSION, what));
    for (const other of [DIRECT, PLAIN]) note(`${other}: ${of(other, what).toPrecision(4)} MB/s`);
    const anchor = { name: SESSION, value: of(SESSION, what) };
    report({ name, ours: of(OURS, what), unit: 'MB/s', anchor, goal: { least: LEAST_BULK } });
  }
}
