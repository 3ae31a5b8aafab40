import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { DevloopError } from '../errors.ts';
import { describeOwner, portOwner } from '../machine/port.ts';
import { describeExit, exitCause } from './exit-cause.ts';
import type { ControllerProcess, Exit } from './process.ts';

export interface Endpoint {
  host: string;
  port: number;
}

export interface ReadinessOptions {
  /** Where the controller will answer TLS. Without one it counts as ready when it has lived for `observeMs`. */
  webhook: Endpoint | undefined;
  observeMs: number;
  deadlineMs: number;
  signal: AbortSignal;
  /** Called each second of the wait. */
  onWaiting(seconds: number): void;
}

const POLL_MS = 10;
const HANDSHAKE_MS = 1000;
/** With mutual TLS these refuse our lack of a client certificate: the server is up. */
const WANTS_CLIENT_CERTIFICATE = /ALERT_(BAD_CERTIFICATE|CERTIFICATE_REQUIRED)/;

/** Whether a TLS server completes a handshake; its certificate is not judged here. */
export function answersTls({ host, port }: Endpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false });
    const retryOnConflict = (answer: boolean) => {
      // An orderly end: the controller would log a broken handshake.
      if (answer) socket.end();
      else socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(HANDSHAKE_MS, () => retryOnConflict(false));
    socket.once('secureConnect', () => retryOnConflict(true));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      retryOnConflict(WANTS_CLIENT_CERTIFICATE.test(error.code ?? '')),
    );
    // A server that closes in the middle of the handshake without a word.
    socket.once('close', () => resolve(false));
  });
}

/** Resolves when the controller is ready; throws 'controller.exited' at its end and 'controller.not-ready' at the deadline. */
export async function waitUntilReady(
  controller: Pick<ControllerProcess, 'exited' | 'lastLines'>,
  options: ReadinessOptions,
): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([options.signal, done.signal]);
  const ready = options.webhook
    ? pollTls(options.webhook, options, signal)
    : delay(options.observeMs, 'ready' as const, { signal });
  ready.catch(() => {});
  try {
    const outcome = await Promise.race([ready, controller.exited]);
    if (outcome === 'late') throw notReady(options);
    if (outcome !== 'ready') throw await exitedError(outcome, controller.lastLines());
  } catch (error) {
    options.signal.throwIfAborted();
    throw error;
  } finally {
    done.abort();
  }
}

async function pollTls(
  endpoint: Endpoint,
  options: ReadinessOptions,
  signal: AbortSignal,
): Promise<'ready' | 'late'> {
  const start = performance.now();
  let reported = 0;
  while (!(await answersTls(endpoint))) {
    const elapsed = performance.now() - start;
    if (elapsed >= options.deadlineMs) return 'late';
    const seconds = Math.floor(elapsed / 1000);
    if (seconds > reported) options.onWaiting(seconds);
    reported = seconds;
    await delay(POLL_MS, undefined, { signal });
  }
  return 'ready';
}

const READ_ON = 'Its last lines above say why.';

function notReady({ webhook, deadlineMs }: ReadinessOptions): DevloopError {
  return new DevloopError(
    'controller.not-ready',
    `The controller runs, but did not answer TLS on ${webhook?.host}:${webhook?.port} within ${deadlineMs / 1000} s.`,
    {
      hint: 'Look at its output: it may listen on another port, wait for its certificate, or serve no webhooks (ENABLE_WEBHOOKS=false)',
    },
  );
}

async function exitedError(exit: Exit, lines: string[]): Promise<DevloopError> {
  const cause = exitCause(lines);
  const owner = cause?.port === undefined ? '' : `, held by ${describeOwner(await portOwner(cause.port))}`;
  const summary = `The controller ${describeExit(exit)}${cause ? `: ${cause.message}${owner}` : ''}`;
  const message = [summary, ...lines.map((line) => `  ${line}`)].join('\n');
  const hint =
    cause?.hint ?? (exit.failure === undefined ? READ_ON : 'See that the command exists and may be run.');
  return new DevloopError('controller.exited', message, { hint });
}
