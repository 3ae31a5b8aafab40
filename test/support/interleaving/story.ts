/** People who use devloop, and others who write to the same objects, all at the same time. */
import fc from 'fast-check';
import { pollUntil, sleep } from '../../../src/async.ts';
import type { KubeObject } from '../../../src/cluster/api/objects.ts';
import { sessionOf } from '../../../src/cluster/marks/marks.ts';
import { DevloopError } from '../../../src/errors.ts';
import { type Act, acts } from './actors.ts';
import { runDown } from './down.ts';
import { HOOK, MANAGER } from './objects.ts';
import { type Session, startSession, type UpOptions } from './session.ts';
import type { World } from './world.ts';

export interface Story {
  world: World;
  sessions: Session[];
  failures: unknown[];
}

/** What one person does, one command after another. */
export type Person = Command[];

interface Command {
  toString(): string;
  run(story: Story): Promise<void>;
}

const named = (name: string, run: Command['run']): Command => ({ toString: () => name, run });

function up(options: UpOptions, isAwaited: boolean): Command {
  const name = `up (${options.route}${options.takeOver ? ', --take-over' : ''}${isAwaited ? '' : ', not waited for'})`;
  return named(name, async ({ world, sessions }) => {
    await world.turn(name);
    const session = startSession(world, sessions, `s${sessions.length + 1}`, options);
    sessions.push(session);
    let isOver = false;
    void session.over.then(() => {
      isOver = true;
    });
    while (isAwaited && !isOver && !session.isServing && !session.process.isKilled) await sleep(1_000);
  });
}

function toSession(name: string, index: number, run: (session: Session, story: Story) => void): Command {
  return named(`${name} s${index + 1}`, async (story) => {
    await story.world.turn(`${name} s${index + 1}`);
    const session = story.sessions[index];
    if (session && !session.process.isKilled) run(session, story);
  });
}

/** Reconnects in the background, as the route does. */
function reconnect(session: Session, { failures }: Story): void {
  void session.reconnect().catch((error) => failures.push(error));
}

function kill(session: Session): void {
  session.process.isKilled = true;
  session.isServing = false;
}

const down = (takeOver: boolean): Command =>
  named(`down${takeOver ? ' --take-over' : ''}`, async ({ world, sessions, failures }) => {
    await world.turn('down');
    failures.push(...(await runDown(world, sessions, takeOver)));
  });

const ofOthers = (act: Act): Command => named(act.toString(), ({ world }) => act.run(world));

const whenServing: Command = named('when a session serves', async ({ sessions }) => {
  const isServed = async (): Promise<boolean> => sessions.some((one) => one.isServing);
  await pollUntil(isServed, { everyMs: 500, limitMs: 20_000 });
});

const index = fc.nat(2);
const options = fc.record(
  { route: fc.constantFrom('direct' as const, 'direct' as const, 'relay' as const), takeOver: fc.boolean() },
  { noNullPrototype: true },
);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(options, fc.boolean()).map(([one, isAwaited]) => up(one, isAwaited)) },
  { weight: 14, arbitrary: acts.map(ofOthers) },
  { weight: 2, arbitrary: index.map((one) => toSession('Ctrl-C of', one, (session) => session.interrupt())) },
  { weight: 2, arbitrary: index.map((one) => toSession('kill -9 of', one, kill)) },
  { weight: 1, arbitrary: index.map((one) => toSession('reconnect of', one, reconnect)) },
  { weight: 2, arbitrary: fc.boolean().map(down) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(1, 5, 20)
      .map((seconds) => named(`${seconds} s later`, async () => void (await sleep(seconds * 1000)))),
  },
);

export const people: fc.Arbitrary<Person[]> = fc
  .tuple(
    options,
    fc.array(command, { maxLength: 4 }),
    fc.array(fc.tuple(fc.boolean(), fc.array(command, { minLength: 1, maxLength: 4 })), {
      minLength: 1,
      maxLength: 2,
    }),
  )
  .map(([first, more, others]) => [
    [up(first, false), ...more],
    ...others.map(([isLater, commands]) => (isLater ? [whenServing, ...commands] : commands)),
  ]);

const SETTLED_MS = 60_000;

/** Everybody runs their commands, then every session ends, and one last `down` restores what is left. */
export async function tell(story: Story, all: Person[]): Promise<void> {
  const { world, sessions, failures } = story;
  await Promise.all(
    all.map(async (person) => {
      for (const one of person) await one.run(story);
    }),
  );
  await sleep(SETTLED_MS);
  for (const { process, isServing } of sessions)
    if (isServing) world.faults.push(...notHeld(world, process.name));
  const running = sessions.filter(({ process }) => !process.isKilled);
  for (const session of running) session.interrupt();
  failures.push(...(await Promise.all(running.map(({ over }) => over))).filter(Boolean));
  failures.push(...(await runDown(world, sessions, true)));
}

/** A session that serves still has what it took over, whatever others wrote; otherwise it would have ended. */
function notHeld({ live }: World, session: string): string[] {
  const refs = [MANAGER, ...live.names('Service').map((name) => ({ ...HOOK, name }))];
  return refs
    .map((ref) => live.read<KubeObject>(ref.kind, ref.name, ref.namespace)!)
    .filter((object) => sessionOf(object) !== session)
    .map(({ metadata }) => `${session} serves, and does not hold ${metadata.name}`);
}

/** A refusal with a cause is not a bug. */
export function bugsIn(failures: unknown[]): unknown[] {
  return failures.filter((error) => !(error instanceof DevloopError));
}
