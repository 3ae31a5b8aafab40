import { sleep } from '../async.ts';
import type { DelveClient } from './json-rpc.ts';

/** Where the controller stopped. */
export interface Place {
  /** The absolute path of the source file. */
  file: string;
  line: number;
  /** `main.(*Handler).Validate`, if it is known. */
  function?: string;
}

interface State {
  Running: boolean;
  currentThread?: { file: string; line: number; function?: { name: string } };
  /** Whether the process has exited. delve can also report that with an error. */
  exited: boolean;
  exitStatus: number;
}

interface Breakpoint {
  /** delve's own breakpoints, which stop at a panic, have negative ids. */
  id: number;
}

export interface Watcher {
  /** Called when the controller has begun to run. */
  onRunning(): void;
  /** Called repeatedly while the controller is stopped: at a breakpoint, between two steps, or at a panic. The result is awaited. */
  onStopped(at: Place | undefined): Promise<void>;
}

/** An editor stops the controller for a moment whenever it sets a breakpoint, so a stop counts only if it lasts longer than this. */
const STOPPED_MS = 250;
/**
 * How many polls a new program may stay stopped, since delve continues it itself. If devloop continued it, too, delve would continue past
 * the first breakpoint.
 */
const STARTING = 60;
const EXITED = /has exited with status (-?\d+)/;

/**
 * Resolves with the controller's exit code when the controller has exited, because delve itself keeps running then. Rejects when delve has
 * ended.
 */
export async function watchController(delve: DelveClient, watcher: Watcher): Promise<number> {
  let stops = -STARTING;
  for (;;) {
    const state = await stateOf(delve, { waits: false });
    if (typeof state === 'number') return state;
    if (state.Running) {
      stops = 0;
      watcher.onRunning();
      const next = await stateOf(delve, { waits: true });
      if (typeof next === 'number') return next;
    } else {
      stops += 1;
      if (stops > 1) await watcher.onStopped(placeOf(state));
    }
    await sleep(STOPPED_MS);
  }
}

/** The controller's state, or its exit code if it has exited. With `waits`, delve answers only when the controller stops. */
async function stateOf(delve: DelveClient, { waits }: { waits: boolean }): Promise<State | number> {
  try {
    const answer = await delve.call<{ State: State }>('State', { NonBlocking: !waits });
    return answer.State.exited ? answer.State.exitStatus : answer.State;
  } catch (error) {
    const code = EXITED.exec(String(error))?.[1];
    if (code === undefined) throw error;
    return Number(code);
  }
}

function placeOf({ currentThread }: State): Place | undefined {
  if (currentThread === undefined) return undefined;
  const { file, line, function: of } = currentThread;
  return { file, line, ...(of === undefined ? {} : { function: of.name }) };
}

/**
 * Removes all breakpoints and lets the controller run, because delve leaves it stopped when the last editor disconnects. Does nothing if
 * the controller has exited.
 */
export async function letRun(delve: DelveClient): Promise<void> {
  const state = await stateOf(delve, { waits: false });
  if (typeof state === 'number') return;
  if (state.Running) await delve.call('Command', { name: 'halt' });
  // A step that is still in progress would stop the controller again.
  await delve.call('CancelNext', {}).catch(() => {});
  const { Breakpoints } = await delve.call<{ Breakpoints: Breakpoint[] }>('ListBreakpoints', { All: false });
  for (const { id } of Breakpoints) if (id > 0) await delve.call('ClearBreakpoint', { Id: id });
  // delve answers this only when the controller stops again, so nothing waits for the answer.
  delve.call('Command', { name: 'continue' }).catch(() => {});
}
