import { type IncomingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** What devloop answers itself. */
export interface Refusal {
  code: number;
  /** As in the API server's own answers, such as `ServiceUnavailable`. */
  reason: string;
  message: string;
  /** Kubernetes' clients repeat a call, writes too, after this time. Only for calls that have not reached the API server. */
  retryAfterSeconds?: number;
}

/** A whole answer of devloop's own. */
export interface OwnAnswer {
  code: number;
  type: string;
  body: Buffer;
}

/** Answers in the API server's own format, so that clients show the message. Returns the body of the answer. */
export function refuse(response: ServerResponse, refusal: Refusal | OwnAnswer): Buffer {
  const { code, headers, body } = wholeAnswer(refusal);
  response.writeHead(code, headers).end(body);
  return body;
}

/** The same to a request for another protocol. */
export function refuseUpgrade(socket: Duplex, refusal: Refusal | OwnAnswer): Buffer {
  const { code, headers, body } = wholeAnswer(refusal);
  socket.end(Buffer.concat([headOf(code, headers), body]));
  return body;
}

function wholeAnswer(refusal: Refusal | OwnAnswer): {
  code: number;
  headers: Record<string, string>;
  body: Buffer;
} {
  const { code } = refusal;
  if ('body' in refusal) return { code, headers: { 'content-type': refusal.type }, body: refusal.body };
  const { reason, message, retryAfterSeconds: seconds } = refusal;
  const details = seconds === undefined ? {} : { details: { retryAfterSeconds: seconds } };
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason };
  const headers = { 'content-type': 'application/json', ...(seconds && { 'retry-after': String(seconds) }) };
  return { code, headers, body: Buffer.from(JSON.stringify({ ...status, ...details, code })) };
}

/** The first lines of an answer, after which the connection ends or speaks another protocol. */
export function headOf(status: number, headers: IncomingHttpHeaders): Buffer {
  const fields = Object.entries({ connection: 'close', ...headers }).flatMap(([name, values = []]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  // As Node does: each character stands for one byte.
  return Buffer.from(
    [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...fields, '', ''].join('\r\n'),
    'latin1',
  );
}
