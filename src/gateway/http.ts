import { gunzipSync } from 'node:zlib';
import { LARGEST_BODY } from './bodies.ts';

/** A complete HTTP answer. Headers alternate name and value, like Node's rawHeaders; Content-Length is set when it is sent. */
export interface Answer {
  status: number;
  headers: string[];
  /** Bytes come from the controller; text is devloop's own answer. */
  body: Buffer | string;
  /** Why the controller had no time to answer; devloop may replace such an answer with a verdict of its own. */
  late?: string;
}

const REASONS = {
  400: 'BadRequest',
  404: 'NotFound',
  413: 'RequestEntityTooLarge',
  500: 'InternalError',
  502: 'InternalError',
  503: 'ServiceUnavailable',
} as const;

/** A Kubernetes Status. kube-apiserver counts it as a failed call, applies the failurePolicy, and shows the message. */
export function statusAnswer(code: keyof typeof REASONS, message: string): Answer {
  return jsonAnswer(code, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `devloop: ${message}`,
    reason: REASONS[code],
    code,
  });
}

/** The answer to a review that the controller does not answer within its budget. */
export function lateAnswer(cause: string, advice = ''): Answer {
  return { ...statusAnswer(503, `${cause}${advice}`), late: cause };
}

/** Adds a header that makes the client open another connection for its next request. */
export function lastAnswer(answer: Answer): Answer {
  return { ...answer, headers: [...answer.headers, 'Connection', 'close'] };
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, headers: ['Content-Type', 'application/json'], body: JSON.stringify(value) };
}

/** The body as its author wrote it: kube-apiserver accepts gzip. A body that cannot be decompressed is returned unchanged. */
export function plainBody({ headers, body }: Answer): Buffer | string {
  if (typeof body === 'string' || !headers.some(isGzip)) return body;
  try {
    // A few compressed bytes can expand to very many.
    return gunzipSync(body, { maxOutputLength: LARGEST_BODY });
  } catch {
    return body;
  }
}

function isGzip(value: string, index: number, headers: string[]): boolean {
  return /^(?:x-)?gzip$/i.test(value) && headers[index - 1]?.toLowerCase() === 'content-encoding';
}

/** The value of a body; undefined if it is not JSON. */
export function jsonOf(body: Buffer | string): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Headers that apply to one connection only. If the client's `Connection: close` were forwarded, it would close a pooled connection too.
 */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // A body is forwarded once it is complete, so its length is set again and the status 100 serves no purpose.
  'content-length',
  'expect',
]);

/** The headers of a request or answer that are forwarded, alternating name and value. */
export function forwardable(rawHeaders: string[]): string[] {
  const left: string[] = [];
  let named: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    const value = rawHeaders[index + 1] ?? '';
    const lower = name.toLowerCase();
    if (lower === 'connection')
      named = [...named, ...value.split(',').map((one) => one.trim().toLowerCase())];
    if (!HOP_BY_HOP.has(lower)) left.push(name, value);
  }
  return named.length === 0 ? left : without(left, named);
}

/** Removes the headers with these names, which must be in lower case. */
export function without(headers: string[], names: string[]): string[] {
  return headers.filter((_, index) => !names.includes(headers[index - (index % 2)]!.toLowerCase()));
}
