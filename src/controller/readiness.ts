import { connect } from 'node:tls';
import { pollUntil, sleep } from '../async.ts';
import { DevloopError } from '../errors.ts';
import { requiresClientCertificate, UNVERIFIED } from '../machine/loopback-tls.ts';
import { describeOwner } from '../machine/port.ts';
import { groupListensOn, portOwner } from '../machine/system.ts';
import { exitedError } from './exit-cause.ts';
import type { ControllerProcess } from './process.ts';

export interface Endpoint {
  host: string;
  port: number;
}

export interface ReadinessOptions {
  /** Where the controller will answer TLS. If undefined, the controller counts as ready when it has run for `observeMs`. */
  webhook: Endpoint | undefined;
  observeMs: number;
  deadlineMs: number;
  /** Whether the controller, or a process that it started, listens on a port. */
  listensOn?: (pid: number, port: number) => Promise<boolean>;
  /** How often the controller is checked. */
  everyMs?: number;
  /** Called at the deadline; returns whether the controller gets the same time again. */
  mayWait?: () => boolean;
  signal: AbortSignal;
  /** Called when a process outside the controller's group serves the port; `who` names it. */
  onStranger(port: number, owner: string): void;
}

const POLL_MS = 10;
/** Many controllers log each handshake that fails, for example until their certificate has been issued. */
const LONGEST_PAUSE_MS = 100;
const HANDSHAKE_MS = 1000;
/** A controller whose port another process has taken usually exits within this time. */
const STRANGER_MS = 1500;
const STRANGER_POLL_MS = 150;

/** Whether a TLS server completes a handshake; its certificate is not verified here. */
export async function answersTls(endpoint: Endpoint): Promise<boolean> {
  return (await handshake(endpoint)) === 'completed';
}

/** failed: something accepted the connection, but has perhaps no certificate yet. */
type Handshake = 'completed' | 'failed' | 'refused';

function handshake({ host, port }: Endpoint): Promise<Handshake> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ...UNVERIFIED });
    let otherwise: Handshake = 'refused';
    let code: string | undefined;
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy());
    socket.once('connect', () => {
      otherwise = 'failed';
    });
    socket.once('secureConnect', () => {
      // The connection is closed in an orderly way, since the controller would log a broken handshake.
      socket.end();
      resolve('completed');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      code = error.code;
    });
    // A server that requires a client certificate is ready, too; devloop asks for its paths next, and then says so.
    socket.once('close', async () => {
      resolve((await requiresClientCertificate(code, { host, port })) ? 'completed' : otherwise);
    });
  });
}

/** Resolves when the controller is ready; throws 'controller.exited' when it exits, and 'controller.not-ready' at the deadline. */
export async function waitUntilReady(
  controller: Pick<ControllerProcess, 'pid' | 'exited' | 'lastLines'>,
  options: ReadinessOptions,
): Promise<void> {
  const { webhook, observeMs } = options;
  const decided = new AbortController();
  const signal = AbortSignal.any([options.signal, decided.signal]);
  const ready = webhook
    ? untilServed(servesFrom(webhook, controller.pid, options), { ...options, signal })
    : sleep(observeMs, signal);
  try {
    const outcome = await Promise.race([ready, controller.exited]);
    options.signal.throwIfAborted();
    if (outcome === false) throw notReady(options);
    if (outcome !== true) throw await exitedError(outcome, controller.lastLines());
  } finally {
    decided.abort();
  }
}

async function untilServed(
  isServed: () => Promise<boolean>,
  { deadlineMs, everyMs = POLL_MS, signal, mayWait }: ReadinessOptions,
): Promise<boolean> {
  for (;;) {
    if (await pollUntil(isServed, { everyMs, limitMs: deadlineMs, signal })) return true;
    if (signal.aborted || !mayWait?.()) return false;
  }
}

/**
 * Whether the controller answers. The port was free before it started. If a process outside its group answers nevertheless, either the
 * controller started that process (`docker run`, a daemon), or it will exit because it cannot listen. A moment later, it is clear which.
 */
function servesFrom(
  webhook: Endpoint,
  group: number | undefined,
  { signal, onStranger, listensOn = groupListensOn }: ReadinessOptions,
): () => Promise<boolean> {
  let strangerSince: number | undefined;
  let pauseMs = 0;
  return async () => {
    const answer = await handshake(webhook);
    if (answer === 'failed') {
      await sleep(pauseMs, signal);
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs + POLL_MS);
    }
    if (answer !== 'completed') return false;
    if (group === undefined || (await listensOn(group, webhook.port))) return true;
    strangerSince ??= performance.now();
    if (performance.now() - strangerSince < STRANGER_MS) {
      await sleep(STRANGER_POLL_MS, signal);
      return false;
    }
    onStranger(webhook.port, describeOwner(await portOwner(webhook.port)));
    return true;
  };
}

function notReady({ webhook, deadlineMs }: ReadinessOptions): DevloopError {
  return new DevloopError(
    'controller.not-ready',
    `The controller is running, but did not answer TLS on ${webhook?.host}:${webhook?.port} within ${deadlineMs / 1000} s.`,
    {
      hint: 'See its output: it may listen on another port, wait for its certificate, or serve no webhooks (ENABLE_WEBHOOKS=false, or a variable that has to switch them on: `controller.env` in devloop.yaml).',
    },
  );
}
