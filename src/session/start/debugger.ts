import { sleep } from '../../async.ts';
import type { Work } from '../../cluster/work.ts';
import type { Debugging } from '../../controller/runner.ts';
import type { Gate } from '../../controller/supervisor.ts';
import { letRun, watchController } from '../../debugger/delve.ts';
import { DebugEndpoint } from '../../debugger/endpoint.ts';
import { findDelve } from '../../debugger/find-delve.ts';
import { connectDelve } from '../../debugger/json-rpc.ts';
import { messageOf } from '../../errors.ts';
import { portOwner } from '../../machine/system.ts';
import { placeText } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** The debugger of one session. Disposed of when the controller has ended. */
export interface SessionDebugger extends AsyncDisposable {
  debugging: Debugging;
  /**
   * Lets editors connect once the controller has been asked which paths it serves: these requests must not stop at their breakpoints.
   * Resolves when the expected editors have set their breakpoints, or have not connected in time: then reviews can be forwarded.
   */
  settled(): Promise<void>;
  /** The gate of a controller without webhooks, which has no other gate. */
  gate: Gate;
  /** Where the controller is stopped: `webhook.go:42 in v1.(*Defaulter).Default`. Undefined while it runs. */
  readonly stoppedAt: string | undefined;
  /** Called when the session ends: ends the editors' sessions, and lets the controller run without breakpoints. */
  end(): Promise<void>;
}

/**
 * Resolves to the delve program for a session whose editors connect to this port. Throws 'debug.no-delve', and 'port.in-use' unless one of
 * the processes `ending` has the port: `up` ends them first.
 */
export async function requireDebugger(
  port: number,
  { cwd, ending, signal }: { cwd: string; ending: number[]; signal: AbortSignal },
): Promise<string> {
  const dlv = await findDelve(cwd, signal);
  const owner = await portOwner(port);
  if (owner === undefined || !ending.includes(owner.pid)) {
    await using _tried = await DebugEndpoint.listen(port, () => {});
  }
  return dlv;
}

/** Listens for editors on this port; `dlv` is delve's program. Throws 'port.in-use'. */
export async function openDebugger(
  port: number,
  dlv: string,
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
): Promise<SessionDebugger> {
  const endpoint = await DebugEndpoint.listen(port, emit);
  let isOpen = false;
  let isEnding = false;
  let attended: AttendedProcess | undefined;
  const settled = async (): Promise<void> => {
    await Promise.race([attended?.running, sleep(RUNNING_MS, signal)]);
    // Not reported earlier, because a first build can take minutes.
    if (!isOpen && !signal.aborted) emit({ type: 'debug.listening', port });
    isOpen = true;
    await endpoint.open(signal);
  };
  return {
    debugging: {
      wrap: (command) => debugCommand(dlv, command),
      attend() {
        attended = attend(endpoint, emit, () => !isEnding);
        return attended;
      },
    },
    settled,
    get stoppedAt() {
      return attended?.stoppedAt;
    },
    gate: { hold() {}, release: () => void settled(), controllerDown() {}, failFast() {} },
    async end() {
      isEnding = true;
      await endpoint.leave({ restart: false });
    },
    [Symbol.asyncDispose]: () => endpoint[Symbol.asyncDispose](),
  };
}

/** Runs delve headless, without stopping the program. delve chooses a port, and prints it on its first line. */
export function debugCommand(dlv: string, [program, ...args]: string[]): string[] {
  const mode = ['--headless', '--accept-multiclient', '--continue', '--api-version=2'];
  return [dlv, 'exec', ...mode, '--listen=127.0.0.1:0', program!, '--', ...args];
}

/** delve notices a little later than devloop that the controller is running. */
const RUNNING_MS = 5_000;

const LISTENING = /^API server listening at: 127\.0\.0\.1:(\d+)$/;

/** One process of the controller, under delve. */
type AttendedProcess = ReturnType<Debugging['attend']> & {
  /** Resolves when the process runs. */
  running: Promise<void>;
  readonly stoppedAt: string | undefined;
};

function attend(endpoint: DebugEndpoint, emit: Emit, restarts: () => boolean): AttendedProcess {
  const exited = Promise.withResolvers<number>();
  const running = Promise.withResolvers<void>();
  let stoppedAt: string | undefined;
  let isListening = false;
  const watch = async (port: number): Promise<void> => {
    using delve = await connectDelve(port);
    let isServed = false;
    const code = await watchController(delve, {
      onRunning() {
        // If editors could connect earlier, the program would run on while they set their breakpoints.
        if (!isServed) endpoint.serve(port, delve);
        isServed = true;
        running.resolve();
        if (stoppedAt !== undefined) emit({ type: 'debug.running' });
        stoppedAt = undefined;
      },
      async onStopped(at) {
        // delve stops at a panic, too, and without an editor nobody would continue the program.
        if (!endpoint.isUsed) return await letRun(delve).catch(() => {});
        const place = placeText({ ...at });
        if (place !== stoppedAt)
          emit({ type: stoppedAt === undefined ? 'debug.stopped' : 'debug.stepped', ...at });
        stoppedAt = place;
      },
    });
    exited.resolve(code);
  };
  return {
    running: running.promise,
    exited: exited.promise,
    get isStopped() {
      return stoppedAt !== undefined;
    },
    get stoppedAt() {
      return stoppedAt;
    },
    reads(line) {
      const port = isListening ? undefined : LISTENING.exec(line)?.[1];
      if (port === undefined) return false;
      isListening = true;
      // If delve itself ends, that is reported as the end of its process.
      watch(Number(port)).catch((error) => {
        const cause = messageOf(error);
        if (!ENDED.test(cause)) emit(notice('debugger.unseen', { cause }));
      });
      return true;
    },
    leave: () => endpoint.leave({ restart: restarts() }),
  };
}

const ENDED = /delve has ended|ECONNRE|EPIPE/;
