import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import type { ClusterApi } from './client.ts';
import { type ApiError, isForbidden } from './errors.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

export interface ForwardTarget {
  namespace: string;
  pod: string;
  /** The port of a program that listens on 127.0.0.1 in the Pod. */
  port: number;
}

const PROTOCOL = 'v4.channel.k8s.io';
const DATA = 0;
const ERROR = 1;
const OPEN_LIMIT_MS = 15_000;
/** The kubelet accepts frames of up to 32 MiB; smaller ones need less memory. */
const FRAME_BYTES = 128 * 1024;
const NORMAL_CLOSURE = new Set([1000, 1001, 1005]);

/**
 * One TCP connection to a port of a Pod, through the API server and the kubelet. There is no half-close: when either side ends, both
 * directions close, so a server that closed the connection looks like one that died. The signal ends only the attempt to connect. If
 * nothing listens in the Pod, the stream fails after it has opened.
 */
export async function portForward(
  api: ClusterApi,
  target: ForwardTarget,
  signal: AbortSignal,
): Promise<Duplex> {
  const deadline = AbortSignal.timeout(OPEN_LIMIT_MS);
  const limit = AbortSignal.any([signal, deadline]);
  try {
    const stream = forwarded(await open(api, target, limit), target);
    await begun(stream, limit);
    // The stream may have begun and ended in one packet.
    if (stream.destroyed) throw stream.errored ?? failed(target, 'it ended at once');
    return stream;
  } catch (error) {
    if (deadline.aborted && !signal.aborted)
      throw failed(target, `no answer within ${OPEN_LIMIT_MS / 1000} s`);
    throw error;
  }
}

async function open(api: ClusterApi, target: ForwardTarget, signal: AbortSignal): Promise<WebSocket> {
  const query = { ports: String(target.port) };
  try {
    return await api.openWebSocket(`${objectPath(podOf(target))}/portforward`, PROTOCOL, { query, signal });
  } catch (error) {
    if (signal.aborted || !(error instanceof DevloopError)) throw error;
    if (isForbidden(error)) throw forbidden(api, target, error);
    if (error.code === 'cluster.unauthorized') throw error;
    throw failed(target, error.message, error);
  }
}

function forbidden(api: ClusterApi, { namespace }: ForwardTarget, cause: ApiError): DevloopError {
  const message = `Port-forwards in namespace ${namespace} need the verbs get and create on pods/portforward (create since Kubernetes 1.35): ${cause.message}`;
  return new DevloopError('cluster.forbidden', message, {
    hint: `Ask for them. To check: kubectl --context ${shellWord(api.context)} auth can-i create pods/portforward -n ${shellWord(namespace)}`,
    cause,
  });
}

function failed(target: ForwardTarget, cause: string, error?: unknown): DevloopError {
  return new DevloopError(
    'relay.failed',
    `The port-forward to port ${target.port} of ${describe(podOf(target))} failed: ${cause}`,
    { hint: `kubectl -n ${shellWord(target.namespace)} describe pod ${shellWord(target.pod)}`, cause: error },
  );
}

function podOf({ namespace, pod }: ForwardTarget): ObjectRef {
  return { kind: 'Pod', namespace, name: pod };
}

/** Emitted by the stream when the kubelet has accepted it. */
const BEGUN = 'begun';

/** Resolves when both channels have started: each begins with the number of the port. */
function begun(stream: Duplex, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void) => () => {
      signal.removeEventListener('abort', abandon);
      stream.removeAllListeners(BEGUN).off('error', fail).off('close', close);
      outcome();
    };
    // This listener stays, so that an error before the caller listens does not count as unhandled.
    stream.on('error', () => {});
    const abandon = settle(() => {
      stream.destroy();
      reject(signal.reason);
    });
    const fail = (error: Error): void => settle(() => reject(error))();
    const close = settle(() => reject(new Error('closed before it had started')));
    signal.addEventListener('abort', abandon);
    stream.once(BEGUN, settle(resolve)).on('error', fail).on('close', close);
  });
}

function forwarded(socket: WebSocket, target: ForwardTarget): Duplex {
  const silent = new Set([DATA, ERROR]);
  let ended = false;
  const broken = (cause: string): DevloopError => failed(target, cause);
  const sendAll = (bytes: Buffer, done: (error?: Error | null) => void): void =>
    send(socket, bytes, (error) => done(error && broken(error.message)));
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, done) => sendAll(chunk, done),
    writev: (chunks, done) => sendAll(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done),
    final(done) {
      ended = true;
      socket.close(1000);
      done();
    },
    destroy(error, done) {
      socket.terminate();
      done(error);
    },
  });
  socket.on('message', (data: RawData) => {
    const frame = data as Buffer;
    const channel = frame[0];
    if (stream.destroyed || (channel !== DATA && channel !== ERROR)) return;
    if (silent.delete(channel)) {
      if (silent.size === 0) stream.emit(BEGUN);
    } else if (channel === ERROR) stream.destroy(broken(frame.toString('utf8', 1).trim()));
    else if (!stream.push(frame.subarray(1))) socket.pause();
  });
  socket.on('error', (error) => stream.destroy(broken(error.message)));
  socket.on('close', (code, reason) => {
    const cut = !ended && !NORMAL_CLOSURE.has(code);
    if (silent.size > 0 || cut) stream.destroy(broken(closing(code, reason.toString())));
    else stream.push(null);
  });
  socket.resume();
  return stream;
}

function closing(code: number, reason: string): string {
  return code === 1006 ? 'the connection was lost' : `closed with code ${code} ${reason}`.trim();
}

function send(socket: WebSocket, bytes: Buffer, done: (error?: Error | null) => void): void {
  const piece = bytes.subarray(0, FRAME_BYTES);
  const frame = Buffer.allocUnsafe(piece.length + 1);
  frame[0] = DATA;
  piece.copy(frame, 1);
  socket.send(frame, { binary: true, compress: false }, (error) => {
    if (error || piece.length === bytes.length) done(error ?? null);
    else send(socket, bytes.subarray(piece.length), done);
  });
}
