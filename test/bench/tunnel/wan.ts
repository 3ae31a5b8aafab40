import type { TestSshd } from '../../support/sshd/sshd.ts';
import { control, Figures, report, shuffled, type Taken } from './figures.ts';
import type { Enter, Load } from './load.ts';
import { createSlowLink, type SlowLink } from './slow-link.ts';
import { OURS, PLAIN, SESSION, SESSION_AGAIN, type Subject, startSubject } from './subjects.ts';

const DIRECT = 'direct TCP';
const LOAD_MS = 2_000;
const MEGABYTES = 40;
const BULK_RTT_MS = 50;
const RTTS_MS = [20, BULK_RTT_MS];
/** A connection of its own, TLS and the request take three. */
const MOST_ROUND_TRIPS = 3.5;
const LEAST_BULK = 0.6;

/** The tunnel over a link with round-trip time; the caller stands beside sshd, as kube-apiserver does. */
export async function wan(sshd: TestSshd, load: Load, rounds: number): Promise<void> {
  for (const rttMs of RTTS_MS) show(await overLink(sshd, load, rounds, rttMs), rttMs);
}

async function overLink(
  sshd: TestSshd,
  load: Load,
  rounds: number,
  rttMs: number,
): Promise<Map<string, Figures>> {
  await using stack = new AsyncDisposableStack();
  const link = stack.use(await createSlowLink(load.program, sshd, rttMs));
  const subjects = [stack.use(await direct(load, link))];
  for (const name of [OURS, PLAIN, SESSION, SESSION_AGAIN]) {
    subjects.push(stack.use(await startSubject(name, link.host, load.here)));
  }
  const figures = new Map<string, Figures>(subjects.map(({ name }) => [name, new Figures()]));
  // The first round only warms up.
  for (let round = -1; round < rounds; round++) {
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

/** No tunnel: the caller calls this machine. */
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
  /** Or new connections alone. */
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

function show(figures: Map<string, Figures>, rttMs: number): void {
  const of = (subject: string, what: string): number => figures.get(subject)!.median(what);
  for (const name of [DIRECT, PLAIN, SESSION]) {
    const ms = of(name, 'p50Ms');
    console.log(
      `beside   new TLS connection, ${name.padEnd(26)} ${(ms / rttMs).toFixed(2)} RTT (${ms.toPrecision(4)} ms)`,
    );
  }
  report({
    name: `P3 new TLS connection, RTT ${rttMs} ms, p50`,
    ours: of(OURS, 'p50Ms'),
    anchor: rttMs,
    anchorName: 'one round trip',
    unit: 'ms',
    most: MOST_ROUND_TRIPS,
  });
  const failed = figures.get(OURS)!.sum('failed');
  if (failed > 0) console.log(`MISSED   ${failed} failed requests over RTT ${rttMs} ms`);
  if (rttMs !== BULK_RTT_MS) return;
  for (const [what, where] of [
    ['up', 'to'],
    ['down', 'from'],
  ] as const) {
    control(`P6 bulk ${where} this machine`, of(SESSION_AGAIN, what) / of(SESSION, what));
    console.log(
      `beside   bulk ${where} this machine, ${DIRECT} ${of(DIRECT, what).toPrecision(4)} MB/s; ${PLAIN} ${of(PLAIN, what).toPrecision(4)} MB/s`,
    );
    report({
      name: `P6 bulk ${where} this machine, RTT ${rttMs} ms`,
      ours: of(OURS, what),
      anchor: of(SESSION, what),
      anchorName: SESSION,
      unit: 'MB/s',
      least: LEAST_BULK,
    });
  }
}
