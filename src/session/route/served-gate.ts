import { pollUntil } from '../../async.ts';
import type { Work } from '../../cluster/work.ts';
import { nameAnother } from '../../controller/exit-cause.ts';
import type { Gate } from '../../controller/supervisor.ts';
import { DevloopError } from '../../errors.ts';
import { asCalled } from '../../gateway/paths.ts';
import { type Asked, askForHandlers, type CalledPath } from '../../gateway/unserved-paths.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import { callersOf } from '../../operator/webhooks.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Gateways } from './gateways.ts';

/** The time for handlers that are registered only after the server has begun to answer. */
const SETTLE_MS = 2_000;
const POLL_MS = 200;

/** What it takes to ask whether the controller serves the webhooks. */
export interface ServedCheck {
  work: Pick<Work, 'emit' | 'signal'>;
  target: Pick<Target, 'services'>;
  gateways: Pick<Gateways, 'refuse' | 'ask' | 'post' | 'hold' | 'release' | 'controllerDown' | 'failFast'>;
  /** Ports of the Pod, each with the port on which the controller listens instead. */
  moved?: ReadonlyMap<number, number>;
  /** Other main packages that could be the manager. */
  rivals: string[];
  /** Resolves when a new program is ready for reviews; if absent, it gets them at once. */
  settled?: (() => Promise<void>) | undefined;
}

/** The paths of the webhooks, each once per port. */
export function calledPaths(services: TargetService[], moved?: ReadonlyMap<number, number>): CalledPath[] {
  const all = services.flatMap(({ serverName, calls, ports }) =>
    calls.flatMap(({ path, port, from }): CalledPath[] => {
      const target = ports.find((one) => one.port === port)?.targetPort;
      const reviews = from.kind === 'CustomResourceDefinition' ? 'conversion' : 'admission';
      if (target === undefined) return [];
      return [{ path: asCalled(path), port: moved?.get(target) ?? target, serverName, reviews }];
    }),
  );
  return [...new Map(all.map((one) => [`${one.port} ${one.path}`, one])).values()];
}

/** The controller's gate: it opens only when the program has been asked whether it serves each path. */
export interface ServedGate extends Gate {
  /**
   * Called for the first program. Throws 'controller.wrong-program' if it serves none of the paths; if it serves only some, this warns, and
   * the gateways refuse the others.
   */
  requireServed(): Promise<void>;
  /**
   * Called when the calls to the Services change. Reviews on new paths wait until the running program has been asked whether it serves
   * them.
   */
  called(services: TargetService[]): void;
}

export function createServedGate(check: ServedCheck): ServedGate {
  const { gateways } = check;
  let { services } = check.target;
  const called = (): CalledPath[] => calledPaths(services, check.moved);
  let [program, isHeld] = [newProgram([]), true];
  const asks = createAsks();
  const unclear = new Set<string>();
  /** Resolves to the paths to warn about. The answers of a program that has been replaced in the meantime do not count. */
  const ask = async (some: CalledPath[]): Promise<CalledPath[]> => {
    const asked = program;
    for (const one of some) asked.known.add(keyOf([one]));
    const before = asked.unserved.filter(isAmong(some));
    const answers = await asks.unlessGivenUp(() => findUnserved(check, some, before));
    if (asked !== program) return [];
    const { unserved } = answers;
    asked.wantsCertificate = answers.wantsCertificate;
    warnOnce(check, unclear, answers.unclear);
    asked.unserved = [...asked.unserved.filter((one) => !isAmong(some)(one)), ...unserved];
    gateways.refuse(asked.unserved);
    asked.asking = asked.asking.filter((one) => !isAmong(some)(one));
    gateways.ask(asked.asking);
    return keyOf(unserved) === keyOf(before) ? [] : unserved;
  };
  return {
    async requireServed() {
      isHeld = false;
      const all = called();
      const unserved = await ask(all);
      requireAnswers(program, { unserved, all }, check.rivals);
      warn(check, services, unserved);
    },
    called(now) {
      services = now;
      const added = called().filter((one) => !program.known.has(keyOf([one])));
      if (isHeld || added.length === 0) return;
      program.asking = [...program.asking, ...added];
      gateways.ask(program.asking);
      void ask(added).then((unserved) => warn(check, services, unserved));
    },
    hold(onHalfWaited) {
      isHeld = true;
      program = newProgram(program.unserved);
      gateways.hold(onHalfWaited);
    },
    release() {
      isHeld = false;
      const asked = program;
      const asking = ask(called()).then(async (unserved) => {
        await check.settled?.();
        warn(check, services, unserved);
      });
      void asking.finally(() => asked === program && gateways.release());
    },
    controllerDown(why, ms) {
      if (asks.giveUp()) check.work.emit(notice('webhooks.not-asked', {}));
      gateways.controllerDown(why, ms);
    },
    failFast: (why) => gateways.failFast(why),
  };
}

/** How late devloop may notice the end of a process. */
const SEEN_LATE_MS = 500;

const NOT_ASKED: Asked = { unserved: [], unclear: [], wantsCertificate: false };

/** A server that expects only the reviews of its own webhooks may crash on any other. After such a crash, devloop stops asking. */
function createAsks() {
  let under = 0;
  let lastAt = Number.NEGATIVE_INFINITY;
  let isGivenUp = false;
  return {
    async unlessGivenUp(find: () => Promise<Asked>): Promise<Asked> {
      if (isGivenUp) return NOT_ASKED;
      under += 1;
      const asked = await find();
      under -= 1;
      lastAt = performance.now();
      return isGivenUp ? NOT_ASKED : asked;
    },
    /** Called if a program ended on its own. Returns whether devloop was asking it at that time; true only once. */
    giveUp(): boolean {
      const isBecause = !isGivenUp && (under > 0 || performance.now() - lastAt < SEEN_LATE_MS);
      isGivenUp ||= isBecause;
      return isBecause;
    },
  };
}

/** What is known about the program that runs. */
interface AskedProgram {
  /** The paths that it does not serve; at first, those that the previous program did not serve. */
  unserved: CalledPath[];
  /** New paths about which it is being asked while reviews arrive. */
  asking: CalledPath[];
  /** The keys of all paths about which it was asked, or is being asked. */
  known: Set<string>;
  wantsCertificate: boolean;
}

function newProgram(unserved: CalledPath[]): AskedProgram {
  return { unserved, asking: [], known: new Set(), wantsCertificate: false };
}

function isAmong(some: CalledPath[]): (one: CalledPath) => boolean {
  const keys = new Set(some.map((one) => keyOf([one])));
  return (one) => keys.has(keyOf([one]));
}

/**
 * Asks the program which paths it does not serve. Waits for handlers that are registered late, but not for those of paths that were unserved
 * before.
 */
async function findUnserved(
  { work: { signal }, gateways }: ServedCheck,
  called: CalledPath[],
  before: CalledPath[],
): Promise<Asked> {
  let asked = NOT_ASKED;
  const areServed = async (): Promise<boolean> => {
    asked = await askForHandlers(called, signal, gateways.post);
    return asked.unserved.length === 0 || keyOf(asked.unserved) === keyOf(before);
  };
  await pollUntil(areServed, { everyMs: POLL_MS, limitMs: SETTLE_MS, signal });
  return asked;
}

function keyOf(called: CalledPath[]): string {
  return called.map(({ port, path }) => `${port} ${path}`).join();
}

/** Warns once in a session about paths on which a real review decides. */
function warnOnce({ work }: ServedCheck, warned: Set<string>, unclear: CalledPath[]): void {
  const added = unclear.filter((one) => !warned.has(keyOf([one])));
  for (const one of added) warned.add(keyOf([one]));
  if (added.length === 0) return;
  work.emit(notice('webhooks.unclear', { paths: added.map(({ path }) => path) }));
}

function warn({ work, rivals }: ServedCheck, services: TargetService[], unserved: CalledPath[]): void {
  if (unserved.length === 0) return;
  const paths = unserved.map((one) => {
    const calls = services.flatMap((service) =>
      service.calls.filter(({ path }) => asCalled(path) === one.path),
    );
    return { path: one.path, callers: callersOf(calls) };
  });
  work.emit(notice('webhooks.unserved', { paths, next: whatToDo(rivals) }));
}

function requireAnswers(
  { wantsCertificate }: AskedProgram,
  { unserved, all }: { unserved: CalledPath[]; all: CalledPath[] },
  rivals: string[],
): void {
  if (wantsCertificate) throw noCertificate();
  if (unserved.length > 0 && unserved.length === all.length) throw wrongProgram(unserved, rivals);
}

function noCertificate(): DevloopError {
  return new DevloopError(
    'controller.client-certificate',
    'The webhook server of the controller requires a client certificate. In the cluster, kube-apiserver presents the one that its --admission-control-config-file names, or none. devloop has none to present.',
    {
      hint: 'Let it accept reviews without one while it runs here, for example with ClientCAName: "" in webhook.Options.',
    },
  );
}

function wrongProgram(unserved: CalledPath[], rivals: string[]): DevloopError {
  const paths = [...new Set(unserved.map(({ path }) => path))].join(', ');
  return new DevloopError(
    'controller.wrong-program',
    `The controller answers 404 on every webhook path (${paths}): it is not the program that serves these webhooks, or its settings switch them off.`,
    { hint: whatToDo(rivals) },
  );
}

function whatToDo(rivals: string[]): string {
  return rivals.length === 0 ? SWITCHES : `${SWITCHES} ${nameAnother(rivals)}`;
}

const SWITCHES = 'Check the arguments and variables that switch webhooks on.';
