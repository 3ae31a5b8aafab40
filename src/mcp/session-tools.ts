import * as z from 'zod';
import { DevloopError } from '../errors.ts';
import { durationMs } from '../phrases.ts';
import type { DevloopEvent } from '../report/events.ts';
import { checkoutRoot } from '../session/context/checkout.ts';
import { thisMachine } from '../session/context/local-machine.ts';
import { localSessions } from '../session/context/local-sessions.ts';
import type { Io } from '../session/context/options.ts';
import {
  CHANGES,
  INTERRUPTS,
  namespace,
  READS,
  RUNS_CODE,
  session,
  since,
  type Tool,
  text,
  tool,
} from './tool.ts';

const inShell = (words: string): string => `All of it: devloop ${words}, in a shell.`;
const PLACE = { context: text('context of the kubeconfig'), namespace };
const seconds = z.int().min(1).max(600).describe('how long to wait at most').default(45);

/** What the commands ask of a session, of the cluster and of this machine. */
export const SESSION_TOOLS: Tool[] = [
  tool({
    name: 'start',
    title: 'Start a session without a cluster',
    description:
      'Starts an API server on this machine with what the checkout would deploy, and builds and runs the operator against it (devloop up --embedded): runs code of this checkout, and the commands of its devloop.yaml. Answers when it is ready, with the kubeconfig for kubectl; if that takes longer than `seconds`, call it again to go on waiting. The session ends with `stop`, and with this server.',
    input: { seconds },
    ...{ annotations: RUNS_CODE, command: 'up', keeps: 'last', ask: inShell('up --embedded --detach') },
    async run({ seconds }, io, own) {
      if (!own.isStarted()) await requireNone(io);
      await own.start(seconds * 1000, io);
    },
  }),
  tool({
    name: 'stop',
    title: 'End the session that start has started',
    description:
      'Ends the session that `start` has started, and removes its API server with everything in it. Sessions that a person has started are not ended.',
    input: {},
    ...{ annotations: INTERRUPTS, command: 'up', keeps: 'last', ask: inShell('down --embedded') },
    run: (_, io, own) => own.stop(io.emit),
  }),
  tool({
    name: 'status',
    title: 'List sessions',
    description:
      'Lists the sessions that have taken over operators: since when, by whom, with which health. Looks in the API server of the session that `start` has started, and otherwise in the cluster of the current context.',
    input: PLACE,
    ...{
      annotations: { ...READS, openWorldHint: true },
      command: 'status',
      keeps: 'first',
      ask: inShell('status'),
    },
    async run({ context, namespace }, io, own) {
      const { status } = await import('../session/status.ts');
      const { kubeconfig, ...its } = (context === undefined && own.cluster()) || {};
      await status({ kubeconfig, given: given({ context, namespace, ...its }), watch: false }, io);
    },
  }),
  tool({
    name: 'doctor',
    title: 'Check whether devloop up would work',
    description:
      'Checks what devloop up needs in the cluster of the current context: access, permissions, the operator, its certificate, the toolchain. Writes nothing to the cluster: a person has to check the routes to this machine, with devloop doctor in a terminal. Runs tools of the checkout, such as its Python. Use it before you ask a person to start a session on a cluster.',
    input: { namespace },
    ...{ annotations: RUNS_CODE, command: 'doctor', keeps: 'first', ask: inShell('doctor') },
    async run({ namespace }, io) {
      const { doctor } = await import('../session/doctor.ts');
      await doctor({ given: given({ namespace }) }, io);
    },
  }),
  waitTool(
    'wait',
    'Wait for the newest code',
    'Waits until the newest code serves: all that was saved before is built, and the controller is ready. Use it after each edit. If the build or the start fails, it is an error with what the compiler or the controller says. Also says of what the session that `start` has started has warned since.',
  ),
  waitTool(
    'restart',
    'Build and restart the controller',
    'Builds and restarts the controller of a session, even if nothing has changed, and waits until it serves: runs code of this checkout, and the commands of its devloop.yaml. An edit needs no restart: use `wait`.',
  ),
  tool({
    name: 'logs',
    title: 'Show the log of the controller',
    description:
      'Shows what the controller has printed, across its restarts, or that of the last session of this checkout if none runs. For the lines of one reconcile use `reconciles_show`.',
    input: {
      tail: z.int().min(1).max(1000).describe('how many of the last lines').default(100),
      since,
      session,
    },
    ...{ annotations: READS, command: 'logs', keeps: 'last', ask: 'Ask for fewer lines with tail or since.' },
    async run({ tail, since, session }, io) {
      const { logs } = await import('../session/logs.ts');
      const age = since === undefined ? {} : { sinceMs: durationMs(since) };
      await logs({ follow: false, tail, ...age, session }, io);
    },
  }),
  ...([true, false] as const).map(holdTool),
  tool({
    name: 'fault_add',
    title: 'Let calls or reviews go wrong',
    description:
      'Lets calls of the controller or its reviews go wrong on purpose, to test how the code copes: WHAT WHICH HOW-OFTEN, such as "409 update deployments share=50%", "delay=2s list", "drop watch deployments name=web", "crash create services", "503 review applications count=3". Ends with fault_clear, or with the session.',
    input: { faults: z.array(z.string().min(1).max(500)).min(1).max(20), session },
    ...{ annotations: CHANGES, command: 'fault', keeps: 'last', ask: inShell('fault') },
    run: async ({ faults: add, session }, io) => await changeFaults({ add }, session, io),
  }),
  tool({
    name: 'fault_list',
    title: 'List faults',
    description: 'Lists the faults of a session, and how often each was met.',
    input: { session },
    ...{ annotations: READS, command: 'fault', keeps: 'last', ask: inShell('fault') },
    run: async ({ session }, io) => await changeFaults({}, session, io),
  }),
  tool({
    name: 'fault_clear',
    title: 'End faults',
    description: 'Ends the faults with these ids, or all faults of a session.',
    input: { ids: z.array(z.string().min(1).max(20)).max(100).default([]), session },
    ...{ annotations: CHANGES, command: 'fault', keeps: 'last', ask: inShell('fault') },
    run: async ({ ids: clear, session }, io) => await changeFaults({ clear }, session, io),
  }),
];

function waitTool(name: 'wait' | 'restart', title: string, description: string): Tool {
  return tool({
    ...{ name, title, description, input: { seconds, session } },
    ...{ annotations: name === 'wait' ? READS : RUNS_CODE, command: name, keeps: 'last', ask: inShell(name) },
    async run({ seconds, session }, io, own) {
      const { wait } = await import('../session/wait.ts');
      const answers: DevloopEvent[] = [];
      const emit = (event: DevloopEvent): void => void answers.push(event);
      const options = { limitMs: seconds * 1000, restarts: name === 'restart', session };
      await wait(options, { ...io, emit }).finally(() => {
        own.tell(io.emit);
        answers.forEach((event) => void io.emit(event));
      });
    },
  });
}

function holdTool(on: boolean): Tool {
  const name = on ? 'hold' : 'release';
  return tool({
    name,
    title: on ? 'Hold reviews' : 'Release reviews',
    description: on
      ? 'Makes the reviews of a session wait until `release`, each within the timeout of its webhook. Use it to look at a cluster while a request is under way.'
      : 'Forwards the reviews that `hold` has made wait, and all later ones.',
    input: { session },
    ...{ annotations: CHANGES, command: name, keeps: 'last', ask: inShell(name) },
    async run({ session }, io) {
      const { hold } = await import('../session/hold.ts');
      await hold({ on, session }, io);
    },
  });
}

async function changeFaults(
  change: { add?: string[]; clear?: string[] },
  session: string | undefined,
  io: Io,
): Promise<void> {
  const { fault } = await import('../session/fault.ts');
  await fault({ change, session }, io);
}

/** Leaves out what is not given, so that it does not hide a setting. */
function given(values: { context?: string; namespace?: string }): { context?: string; namespace?: string } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Two sessions of one checkout would need the same ports, and every other tool would have to say which one is meant. */
async function requireNone({ cwd, env }: Io): Promise<void> {
  const checkout = await checkoutRoot(cwd);
  const found = (await localSessions(await thisMachine(env))).find((one) => one.checkout === checkout);
  if (found === undefined) return;
  throw new DevloopError('session.held', `Session ${found.id} of this checkout is running.`, {
    hint: 'All tools work with that session. Only a person ends it: Ctrl-C in the terminal of devloop up.',
  });
}
