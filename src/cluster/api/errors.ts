import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DevloopError, messageOf } from '../../errors.ts';
import type { Selected } from './kubeconfig.ts';

interface StatusBody {
  message?: string;
  reason?: string;
}

/** The API server's refusal of one call, classified by its status code and reason, never by its text. */
export class ApiError extends DevloopError {
  readonly status: number;
  readonly reason: string;

  constructor(message: string, status: number, reason: string) {
    super(
      status === 403 ? 'cluster.forbidden' : status === 409 ? 'change.conflict' : 'cluster.rejected',
      message,
    );
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
  }

  static from(method: string, path: string, status: number, body: unknown, text: string): ApiError {
    const { message, reason } = (body ?? {}) as StatusBody;
    return new ApiError(
      message ?? `${method} ${path}: HTTP ${status} ${text.slice(0, 200)}`.trim(),
      status,
      reason ?? '',
    );
  }

  /** Somebody else wrote first, or the object came or went in between: look again and decide anew. */
  get isConflict(): boolean {
    return this.status === 409;
  }

  get isForbidden(): boolean {
    return this.status === 403;
  }
}

/** kube-apiserver's words for a webhook that fails closed and was not reached, or gave no answer. */
export const UNANSWERED_WEBHOOK = /failed calling webhook/;

const LET_IT_PASS =
  'A webhook that does not answer keeps the change out. See it with kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations; set its failurePolicy to Ignore for as long as it takes to run this command again.';

/** What a user is told about a refusal that no caller expected. */
export function rejected(error: ApiError, doing: string): DevloopError {
  return new DevloopError(error.code, `${doing}: the API server refused it: ${error.message}`, {
    ...(UNANSWERED_WEBHOOK.test(error.message) ? { hint: LET_IT_PASS } : {}),
    cause: error,
  });
}

const TLS_CODES = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS)/;

export function connectionError(selected: Selected, error: unknown): DevloopError {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const cause = messageOf(error) || code;
  const server = `The API server of context ${selected.context} (${selected.server})`;
  const compare = `Compare: kubectl --context ${selected.context} get --raw /version`;
  if (TLS_CODES.test(code)) {
    // Node adds advice for people who run Node.
    const message = `${server} shows a certificate that is not trusted: ${cause.split(';')[0]}`;
    const hint = `Its certificate is not the one that the kubeconfig trusts. ${compare}`;
    return new DevloopError('cluster.unreachable', message, { hint, cause: error });
  }
  const hint = `Is the cluster up, and the VPN connected? ${compare}`;
  return new DevloopError('cluster.unreachable', `${server} does not answer: ${cause}`, {
    hint,
    cause: error,
  });
}

export function unauthorizedError(selected: Selected, cause?: unknown): DevloopError {
  const expired = expiredClientCertificate(selected);
  const why =
    expired !== undefined
      ? ` The client certificate expired on ${expired}.`
      : cause === undefined
        ? ' The token or client certificate has probably expired.'
        : ` ${messageOf(cause)}`;
  return new DevloopError(
    'cluster.unauthorized',
    `The API server of context ${selected.context} does not accept the credentials of the kubeconfig.${why}`,
    {
      hint: `Log in again the way you usually do, then check: kubectl --context ${selected.context} auth whoami`,
      cause,
    },
  );
}

function expiredClientCertificate(selected: Selected): string | undefined {
  const user = selected.config.getCurrentUser();
  try {
    const pem = user?.certData
      ? Buffer.from(user.certData, 'base64')
      : user?.certFile
        ? readFileSync(user.certFile)
        : undefined;
    if (pem === undefined) return undefined;
    const until = new X509Certificate(pem).validToDate;
    return until.getTime() < Date.now() ? until.toISOString() : undefined;
  } catch {
    return undefined;
  }
}
