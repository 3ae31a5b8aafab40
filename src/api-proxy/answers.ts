import { type IncomingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http';

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
  if ('body' in refusal) {
    response.writeHead(refusal.code, { 'content-type': refusal.type }).end(refusal.body);
    return refusal.body;
  }
  const { code, reason, message, retryAfterSeconds: seconds } = refusal;
  const details = seconds === undefined ? {} : { details: { retryAfterSeconds: seconds } };
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason };
  const headers = { 'content-type': 'application/json', ...(seconds && { 'retry-after': String(seconds) }) };
  const body = Buffer.from(JSON.stringify({ ...status, ...details, code }));
  response.writeHead(code, headers).end(body);
  return body;
}

/** The first lines of an answer, after which the connection ends or speaks another protocol. */
export function headOf(status: number, headers: IncomingHttpHeaders): string {
  const fields = Object.entries({ connection: 'close', ...headers }).flatMap(([name, values = []]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...fields, '', ''].join('\r\n');
}
