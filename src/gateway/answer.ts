/** A whole HTTP answer. Headers are name and value in turn, as Node's rawHeaders; Content-Length is set when it is sent. */
export interface Answer {
  status: number;
  headers: string[];
  /** Bytes are the controller's; text is devloop's own. */
  body: Buffer | string;
}

const REASONS = {
  400: 'BadRequest',
  413: 'RequestEntityTooLarge',
  500: 'InternalError',
  502: 'InternalError',
  503: 'ServiceUnavailable',
} as const;

/** A Kubernetes Status: kube-apiserver takes it as a failed call, applies the failurePolicy, and shows the message. */
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

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, headers: ['Content-Type', 'application/json'], body: JSON.stringify(value) };
}
