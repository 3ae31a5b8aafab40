import { pollUntil } from '../../async.ts';
import { describe } from '../../cluster/api/kinds.ts';
import type { Work } from '../../cluster/work.ts';
import { nameAnother } from '../../controller/exit-cause.ts';
import type { Gate } from '../../controller/supervisor.ts';
import { DevloopError } from '../../errors.ts';
import { asCalled } from '../../gateway/paths.ts';
import { type CalledPath, unservedPaths } from '../../gateway/served.ts';
import type { Target } from '../../operator/target.ts';
import type { Gateways } from './gateways.ts';

/** A server can answer before all its handlers are registered. */
const SETTLE_MS = 2_000;
const POLL_MS = 200;

/** What is asked whether the controller serves the webhooks. */
export interface ServedCheck {
  work: Pick<Work, 'emit' | 'signal'>;
  target: Pick<Target, 'services'>;
  gateways: Pick<Gateways, 'refuse' | 'hold' | 'release' | 'controllerDown' | 'failFast'>;
  /** Other main packages that could be the manager. */
  rivals: string[];
  /** Resolves when a new program may get reviews; absent: at once. */
  settled?: (() => Promise<void>) | undefined;
}

/** The paths of the target's webhooks, each once for each port. */
export function calledPaths({ services }: Pick<Target, 'services'>): CalledPath[] {
  const all = services.flatMap(({ serverName, calls, ports }) =>
    calls.flatMap(({ path, port, from }): CalledPath[] => {
      const target = ports.find((one) => one.port === port)?.targetPort;
      const reviews = from.kind === 'CustomResourceDefinition' ? 'conversion' : 'admission';
      return target === undefined ? [] : [{ path: asCalled(path), port: target, serverName, reviews }];
    }),
  );
  return [...new Map(all.map((one) => [`${one.port} ${one.path}`, one])).values()];
}

/** The gate of the controller: it opens only to a program that was asked for each path. */
export interface ServedGate extends Gate {
  /**
   * For the first program. Throws 'controller.wrong-program' if it serves none of the paths; where it serves some, this warns, and the
   * gateways refuse the others.
   */
  requireServed(): Promise<void>;
}

export function createServedGate(check: ServedCheck): ServedGate {
  const { gateways } = check;
  const called = calledPaths(check.target);
  let known: CalledPath[] = [];
  let holds = 0;
  const afterwards = async (unserved: CalledPath[]): Promise<CalledPath[]> => {
    await check.settled?.();
    return unserved;
  };
  const ask = async (): Promise<CalledPath[]> => {
    const unserved = await findUnserved(check, called, known);
    gateways.refuse(unserved);
    const isNew = unserved.length > 0 && keyOf(unserved) !== keyOf(known);
    known = unserved;
    return isNew ? unserved : [];
  };
  return {
    async requireServed() {
      const unserved = await ask();
      if (unserved.length > 0 && unserved.length === called.length)
        throw wrongProgram(unserved, check.rivals);
      if (unserved.length > 0) warn(check, unserved);
    },
    hold(onHalfWaited) {
      holds += 1;
      gateways.hold(onHalfWaited);
    },
    release() {
      const current = holds;
      const asked = ask()
        .then(afterwards)
        .then((unserved) => unserved.length > 0 && warn(check, unserved));
      // A program that is replaced in the meantime has no say.
      void asked.finally(() => current === holds && gateways.release());
    },
    controllerDown: (why, ms) => gateways.controllerDown(why, ms),
    failFast: (why) => gateways.failFast(why),
  };
}

/** What was unserved before is not waited for. */
async function findUnserved(
  { work: { signal } }: ServedCheck,
  called: CalledPath[],
  known: CalledPath[],
): Promise<CalledPath[]> {
  let unserved: CalledPath[] = [];
  const areServed = async (): Promise<boolean> => {
    unserved = await unservedPaths(called, signal);
    return unserved.length === 0 || keyOf(unserved) === keyOf(known);
  };
  await pollUntil(areServed, { everyMs: POLL_MS, limitMs: SETTLE_MS, signal });
  return unserved;
}

function keyOf(called: CalledPath[]): string {
  return called.map(({ port, path }) => `${port} ${path}`).join();
}

function warn({ work, target, rivals }: ServedCheck, unserved: CalledPath[]): void {
  const list = unserved.map((one) => {
    const callers = target.services.flatMap(({ calls }) =>
      calls.filter(({ path }) => asCalled(path) === one.path).map(({ from }) => describe(from)),
    );
    return `\n  ${one.path}  (${[...new Set(callers)].join(', ')})`;
  });
  const message = `The controller answers 404 on these paths, so devloop refuses their reviews:${list.join('')}`;
  work.emit({ type: 'warning', message, hint: whatToDo(rivals) });
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
