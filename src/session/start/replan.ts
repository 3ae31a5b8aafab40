import { rm } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { Checkout } from '../../checkout/files.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import type { Work } from '../../cluster/work.ts';
import type { Supervisor } from '../../controller/supervisor.ts';
import type { ApiAccess } from '../../local/api-access.ts';
import type { KeyPairs } from '../../local/key-pairs.ts';
import { writeNeededFiles } from '../../local/mounts.ts';
import { type PlannedController, planController } from '../../local/plan.ts';
import type { OtherPort } from '../../local/ports.ts';
import type { TargetManager } from '../../operator/target.ts';
import type { Emit } from '../../report/events.ts';
import { withoutDiscoveries } from '../context/without-discoveries.ts';
import { controllerInputs } from './controller.ts';
import type { Session } from './session.ts';

/** What depends on the manager's settings on this machine. */
export interface Dependent {
  pairs: KeyPairs;
  proxy: ApiAccess | undefined;
  planned: PlannedController | undefined;
  supervisor: Pick<Supervisor, 'runWith'> | undefined;
}

/** What is different from the plan before. */
export interface Replanned {
  /** The mount points whose files the running controller now sees. */
  files: string[];
  /** The mount points whose files it gets at its next start. */
  filesAtStart: string[];
  /** The variables that it gets at its next start. */
  variables: string[];
  /** Whether anything is different at its next start. */
  atStart: boolean;
}

/** A new version of the manager, or another way to read its settings with the program as it is. */
export type NewSettings = { manager: TargetManager } | { api: ClusterApi; emit: Emit };

/** Disposal waits for what is being written: when a session has ended, its files are removed. */
export interface Replanning extends AsyncDisposable {
  /** The manager as it was planned last. */
  readonly manager: TargetManager | undefined;
  /**
   * Reads the manager's settings again, writes its files, and gives the controller the rest at its next start. One call waits for the
   * other. Undefined if there is no controller, or if the session has ended.
   */
  again(settings: NewSettings): Promise<Replanned | undefined>;
}

export function createReplanning(
  session: Session,
  work: Work,
  { pairs, proxy, planned, supervisor }: Dependent,
): Replanning {
  let current = planned;
  let { manager } = session.target;
  const copies = createCopies(planned);
  const replan = async (settings: NewSettings): Promise<Replanned | undefined> => {
    if ('manager' in settings) manager = settings.manager;
    if (current === undefined || supervisor === undefined) return undefined;
    const before = current;
    const inputs = controllerInputs({ ...session, target: { ...session.target, manager } }, pairs, proxy);
    // What was saved since the session began counts.
    const checkout = new Checkout(session.context.root);
    const elsewhere = async (port: number) => movedTo(session.moved.get(port));
    const { api, emit, program } =
      'manager' in settings
        ? { api: inputs.api, emit: work.emit, program: undefined }
        : { ...settings, program: before.program };
    const next = await planController(
      { ...inputs, api, checkout, elsewhere, program, running: before.settings },
      // Discoveries are the same as at the start, except for what `guard.followed` reports.
      { emit: withoutDiscoveries(emit), signal: work.signal },
    );
    // The session removes its files when it ends, so nothing must be written after that.
    if (work.signal.aborted) return undefined;
    const changed = await writeNeededFiles(next.needed);
    current = next;
    const replanned = differences(before, next, changed);
    if (replanned.atStart) {
      supervisor.runWith(next.plan, () => copies.started(next));
      await copies.planned(next);
    }
    return replanned;
  };
  let last: Promise<unknown> = Promise.resolve();
  return {
    get manager() {
      return manager;
    },
    again(settings) {
      const run = last.then(() => replan(settings));
      last = run.catch(() => {});
      return run;
    },
    async [Symbol.asyncDispose]() {
      await last;
    },
  };
}

function differences(
  before: PlannedController,
  next: PlannedController,
  changed: { directory: string }[],
): Replanned {
  const written = new Set(changed.map(({ directory }) => directory));
  const were = new Set(before.volumes.map(({ directory }) => directory));
  const atStart = next.volumes.filter(({ isLive, directory }) => !isLive && !were.has(directory));
  const [was, is] = [before.plan.env, next.plan.env];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const namesCopy = (value = ''): boolean => atStart.some(({ directory }) => value.includes(directory));
  const parts = ({ plan: { run, env, placed } }: PlannedController) => [run, env, placed];
  return {
    files: next.volumes.flatMap(({ directory, path }) => (written.has(directory) ? [path] : [])),
    filesAtStart: atStart.map(({ path }) => path),
    variables: names.filter((name) => was[name] !== is[name] && !namesCopy(is[name])),
    atStart: !isDeepStrictEqual(parts(before), parts(next)),
  };
}

/** Copies that do not change while a controller runs are removed when the next one has started without them. */
function createCopies(planned: PlannedController | undefined) {
  const of = (one: PlannedController | undefined): string[] =>
    (one?.volumes ?? []).flatMap(({ isLive, directory }) => (isLive ? [] : [directory]));
  let [used, next] = [of(planned), of(planned)];
  const remove = async (directories: string[]): Promise<void> => {
    for (const directory of new Set(directories))
      await rm(directory, { recursive: true, force: true }).catch(() => {});
  };
  return {
    async planned(now: PlannedController): Promise<void> {
      const unused = next.filter((one) => !used.includes(one) && !of(now).includes(one));
      next = of(now);
      await remove(unused);
    },
    started(now: PlannedController): void {
      const unused = used.filter((one) => !next.includes(one));
      used = of(now);
      void remove(unused);
    },
  };
}

function movedTo(port: number | undefined): OtherPort | undefined {
  return port === undefined ? undefined : { port, because: 'it has listened there since the session began' };
}
