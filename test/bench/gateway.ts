import { setTimeout as sleep } from 'node:timers/promises';
import { control, note, report } from './figures.ts';
import { type Measured, type Subjects, startSubjects } from './gateway/subjects.ts';
import { ROUNDS, Rounds, shuffled, type Taken } from './measure.ts';

const LOAD_MS = Number(process.env.BENCH_LOAD_MS ?? 2_000);
const MANY = 16;
const RESTARTS = Number(process.env.BENCH_RESTARTS ?? 20);
/** The usual downtime of a controller, and a long one. */
const DOWN_MS = [100, 500];
const PACED_CLIENTS = 8;
const PAUSE_MS = 5;

/** The gateway, with its recorder, beside HAProxy in front of the same controller; and what it adds to a restart. */
export async function gatewayFigures(): Promise<void> {
  await using subjects = await startSubjects();
  await proxyFigures(subjects);
  await holdFigures(subjects);
}

async function proxyFigures({ ports, load }: Subjects): Promise<void> {
  const rounds = new Rounds();
  const many = String(MANY);
  for (let round = 0; round <= ROUNDS; round++) {
    const taken: Taken = {};
    for (const name of shuffled(['direct', 'again', 'devloop', 'HAProxy', 'Node'] as const)) {
      const port = String(ports[name === 'again' ? 'direct' : name]);
      const ask = async (kind: string, count: string): Promise<Measured> =>
        allAnswered(await load(['load', kind, port, count, String(LOAD_MS)]));
      taken[`${name} p50`] = (await ask('keep', '1')).p50Ms;
      if (name === 'again') continue;
      taken[`${name} kept`] = (await ask('keep', many)).perSecond;
      taken[`${name} new`] = (await ask('new', many)).perSecond;
    }
    if (round > 0) rounds.add(taken);
  }
  const median = (what: string): number => rounds.median(what);
  control('the controller alone', median('again p50') / median('direct p50'));
  const added = (name: string): number => median(`${name} p50`) - median('direct p50');
  report({
    name: 'what the gateway adds to the p50 of a review at one client',
    ours: added('devloop'),
    unit: 'ms',
    anchor: { name: 'HAProxy', value: added('HAProxy') },
    goal: { most: 3.5 },
  });
  for (const [kind, title, least] of [
    ['kept', 'reviews a second, 16 kept connections', 0.3],
    ['new', 'reviews a second, 16 clients with new connections', 0.7],
  ] as const) {
    report({
      name: title,
      ours: median(`devloop ${kind}`),
      unit: '/s',
      anchor: { name: 'HAProxy', value: median(`HAProxy ${kind}`) },
      goal: { least },
    });
    const plain = median(`Node ${kind}`);
    const share = (median(`devloop ${kind}`) / plain).toFixed(2);
    note(`${title}: ${share}x of a proxy in Node that only passes on (${Math.round(plain)} /s)`);
  }
  note(
    `without either: p50 ${median('direct p50').toFixed(2)} ms, ${Math.round(median('direct kept'))} /s kept`,
  );
}

/** Reports by how much the longest wait of a review exceeds the time for which no controller listens. */
async function holdFigures(subjects: Subjects): Promise<void> {
  const { ports, gateway, load } = subjects;
  for (const down of DOWN_MS) {
    const over: number[] = [];
    let answered = 0;
    for (let restart = 0; restart < RESTARTS; restart++) {
      const loading = load([
        'paced',
        String(ports.devloop),
        String(PACED_CLIENTS),
        String(PAUSE_MS),
        String(down + 700),
      ]);
      await sleep(200);
      gateway.hold();
      const { downMs } = await subjects.restartController(down);
      gateway.release();
      const measured = allAnswered(await loading);
      answered += measured.answered;
      over.push(measured.slowestMs - downMs);
    }
    report({
      name: `slowest of all reviews in ${RESTARTS} restarts, less the ${down} ms that the controller was away`,
      ours: Math.max(...over),
      unit: 'ms',
      goal: { most: 80 },
    });
    note(`${answered} reviews, none failed`);
  }
}

function allAnswered(measured: Measured): Measured {
  if (measured.failed > 0)
    throw new Error(`${measured.failed} reviews failed: ${measured.causes.join('; ')}`);
  return measured;
}
