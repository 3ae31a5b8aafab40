import type { CallHooks } from '../api-proxy/observed.ts';
import { jsonPath } from '../config/json-path.ts';
import { DevloopError } from '../errors.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { BY_ITSELF, type CommonOptions, type Io } from './context/options.ts';
import { isProxied } from './context/proxied.ts';
import { commandEnv } from './control/environment.ts';
import { Activity } from './crashing/activity.ts';
import { crashIn } from './crashing/points.ts';
import { type Counts, crashRounds } from './crashing/rounds.ts';
import { createScenario, resetFor } from './crashing/scenario.ts';
import type { RunningSession } from './running.ts';
import { up } from './up.ts';

export interface CrashtestOptions extends CommonOptions {
  /** Whether the user has agreed to changes in this cluster. */
  yes: boolean;
  /** What makes the controller work, and what takes that back. */
  command: string[];
  reset?: string;
  before: boolean;
  /** The fault of the only round. */
  point?: string;
  limit: number;
  quietSeconds: number;
  /** JSONPaths of what is not compared. */
  ignore: string[];
}

/** What a session prints of the controller's work, of which the rounds tell what matters. */
const LEFT_OUT = new Set<DevloopEvent['type']>([
  ...(['review', 'call', 'reconcile', 'faults.listed', 'controller.output', 'controller.started'] as const),
  ...(['controller.ready', 'controller.exited', 'controller.replaced', 'controller.down'] as const),
]);

/**
 * Takes the operator over as `up` does, and kills the controller at each of its writes, to see whether everything ends as without that. Throws
 * 'crashtest.found' if it does not. `host`: the session, which is that of `up` in a cluster.
 */
export async function crashtest(options: CrashtestOptions, io: Io, host = up): Promise<void> {
  const { command, reset = resetFor(command), ignore, before } = options;
  const ignored = ignore.map(pathOf);
  const point = options.point === undefined ? undefined : crashIn(options.point);
  const activity = new Activity();
  let isReady = false;
  const emit: Emit = (event, ...rest) => {
    const isCrash = event.type === 'note' && event.code === 'faults.crashed';
    if (!isReady || !(LEFT_OUT.has(event.type) || isCrash)) io.emit(event, ...rest);
  };
  let tested: Counts | undefined;
  let mayHaveLeft = false;
  const attend = async (session: RunningSession): Promise<void> => {
    const { context, files, calls, faults, standing, work } = session;
    if (!isProxied(context)) throw new DevloopError('usage.invalid', DIRECT);
    isReady = true;
    // A build in the middle would make the runs those of two programs.
    standing.supervisor?.followFiles(false);
    const place = { cwd: io.cwd, env: await commandEnv(session) };
    const scenario = createScenario({ command, reset }, place);
    const watched = { directory: files.directory, activity, countAnew: () => calls.anew() };
    const parts = { api: context.api, ...watched, scenario, faults };
    const when = before ? ('before' as const) : ('after' as const);
    mayHaveLeft = true;
    tested = await crashRounds(
      { ...parts, emit: work.emit, signal: work.signal },
      { ...options, when, ignored, point },
    );
    work.emit({ type: 'crashtest.done', ...tested });
    [isReady, mayHaveLeft] = [false, !tested.isReset];
  };
  const { attend: _, ...quietly } = io;
  const guest = {
    hooks: (of: CallHooks) => activity.hooks(of),
    observe: (event: DevloopEvent) => activity.observe(event),
    attend,
  };
  try {
    await host({ ...options, ...BY_ITSELF }, { ...quietly, emit }, guest);
  } finally {
    if (mayHaveLeft) io.emit(notice('crashtest.not-reset', { reset }));
  }
  if (tested && tested.wrong > 0) throw new DevloopError('crashtest.found', FOUND, { isSummary: true });
}

const FOUND = 'The cluster does not end as without a crash.';

const DIRECT = 'A crash test needs the API proxy, which `api: direct` leaves out.';

function pathOf(text: string): NonNullable<ReturnType<typeof jsonPath>> {
  const path = jsonPath(text);
  if (path) return path;
  throw new DevloopError('usage.invalid', `--ignore ${text}: this is no JSONPath that names a field.`, {
    hint: 'Such as --ignore .status.lastRun',
  });
}
