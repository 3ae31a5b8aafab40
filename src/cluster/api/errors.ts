import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DevloopError, type ErrorCode, messageOf, originOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { type Denier, denierHint, denierOf, type Refusal } from './denier.ts';
import type { SelectedContext } from './kubeconfig.ts';

interface StatusBody {
  message?: string;
  reason?: string;
  causes?: string[];
}

const CODES: Record<number, ErrorCode> = { 403: 'cluster.forbidden', 409: 'change.conflict' };

const NEXT_STEPS: Record<number, string> = {
  403: 'Ask for that permission, or use another context or account.',
  409: 'Run the command again.',
  429: 'The API server is overloaded. Run the command again later.',
};

/**
 * kube-apiserver's words when it refuses to create anything in a namespace that is being deleted. Its status is 403, as for a missing
 * permission.
 */
const TERMINATING = /because it is being terminated/;

const TERMINATING_HINT =
  'The namespace is being deleted. Wait until it is gone, deploy the operator again, and run this command again.';

/**
 * The API server's refusal of one call. Its error code and hint depend on the status, except in a namespace that is being deleted. If a
 * policy or a webhook refused the call, the hint names it.
 */
export class ApiError extends DevloopError {
  readonly status: number;
  readonly reason: string;
  /** How many seconds the server asks the client to wait before repeating the call; 0 if it does not ask. */
  readonly retryAfterSeconds: number;
  /** Whether nothing can be created in the namespace, because it is being deleted. */
  readonly isTerminating: boolean;
  /** The policy or webhook that refused the call; undefined if the API server itself did. */
  readonly denier: Denier | undefined;

  constructor(refusal: string | Refusal, status: number, reason: string, retryAfterSeconds = 0) {
    const { message, causes } = typeof refusal === 'string' ? { message: refusal } : refusal;
    const denier = denierOf({ message, causes });
    const isTerminating = status === 403 && TERMINATING.test(message);
    const code = isTerminating ? undefined : CODES[status];
    const hint = isTerminating ? TERMINATING_HINT : denier ? denierHint(denier) : NEXT_STEPS[status];
    super(code ?? 'cluster.rejected', message, {
      hint: hint ?? 'devloop doctor checks the cluster and your account.',
    });
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
    this.isTerminating = isTerminating;
    this.denier = denier;
  }

  /** `request`: the method and path of the call. `answer`: from the API server, or from something in front of it. */
  static from(request: string, answer: { status: number; text: string; retryAfter?: string }): ApiError {
    const { status, text, retryAfter } = answer;
    const {
      message = `${request}: HTTP ${status} ${text.slice(0, 200)}`.trim(),
      reason,
      causes,
    } = statusOf(text);
    return new ApiError({ message, causes }, status, reason ?? '', secondsOf(retryAfter));
  }
}

export function isNotFound(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404;
}

export function isForbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403;
}

/** Whether somebody else wrote first, or the object was created or deleted in between. The caller then reads the object and decides again. */
export function isConflict(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409;
}

/** Whether an object of this name exists already. */
export function isAlreadyExists(error: unknown): error is ApiError {
  return error instanceof ApiError && error.reason === 'AlreadyExists';
}

/** Turns the 404 of a write into a conflict: the object was deleted after it was read, so it has to be read again. */
export function conflictIfGone(error: unknown): never {
  if (isNotFound(error)) throw new ApiError(error.message, 409, 'Conflict');
  throw error;
}

/** An answer that the API server itself would not give: cut off, or of the wrong kind. It does not show whether a write took effect. */
export class GarbledAnswer extends DevloopError {
  constructor(what: string) {
    super('cluster.rejected', `The API server answered with ${what}`, {
      hint: 'A proxy or a login page may be answering in its place. Check the server in the kubeconfig.',
    });
    this.name = 'GarbledAnswer';
  }
}

const TRANSIENT_STATUS = new Set([429, 500, 502, 503, 504]);

/**
 * Whether the same call may succeed a moment later: there was no answer or a garbled one, or the server is overloaded, starting or failing.
 * After a write, only reading the object again shows whether the write took effect.
 */
export function isTransient(thrown: unknown): boolean {
  const error = originOf(thrown);
  if (error instanceof ApiError)
    return TRANSIENT_STATUS.has(error.status) && !UNANSWERED_WEBHOOK.test(error.message);
  if (!(error instanceof DevloopError)) return false;
  return error.code === 'cluster.unreachable' || error instanceof GarbledAnswer || isTransient(error.cause);
}

const LONGEST_RETRY_AFTER_SECONDS = 10;

/** The seconds in the Retry-After header; 0 for a date, which kube-apiserver never sends. */
function secondsOf(retryAfter = ''): number {
  return /^\d+$/.test(retryAfter) ? Math.min(Number(retryAfter), LONGEST_RETRY_AFTER_SECONDS) : 0;
}

function statusOf(text: string): StatusBody {
  try {
    const { message, reason, details } = (JSON.parse(text) ?? {}) as Record<string, unknown>;
    const { causes } = (details ?? {}) as Record<string, unknown>;
    const messages = Array.isArray(causes) ? causes.map((cause) => cause?.message) : [];
    return {
      ...(typeof message === 'string' && message !== '' ? { message } : {}),
      ...(typeof reason === 'string' ? { reason } : {}),
      causes: messages.filter((one) => typeof one === 'string'),
    };
  } catch {
    return {};
  }
}

/** kube-apiserver's words for a webhook with failurePolicy Fail that it could not reach, or that did not answer. */
export const UNANSWERED_WEBHOOK = /failed calling webhook/;

/** Whether the API server refused a call because a webhook with failurePolicy Fail did not answer. */
export function isUnanswered(error: unknown): boolean {
  return UNANSWERED_WEBHOOK.test(refusalOf(error)?.message ?? '');
}

/** Whether a webhook or a policy denied a call: the API server is available, and the same call may be allowed a moment later. */
export function isDenied(error: unknown): boolean {
  return refusalOf(originOf(error))?.denier !== undefined;
}

/** Whether the API server rejected the credentials. A webhook or a policy can deny a request with the same status. */
export function isUnauthorized({ status, text }: { status: number; text: string }): boolean {
  return status === 401 && denierOf({ message: '', ...statusOf(text) }) === undefined;
}

/** The API server's refusal: the error itself, or the cause of an error that wraps it. */
export function refusalOf(error: unknown): ApiError | undefined {
  const refusal = error instanceof DevloopError && error.cause instanceof ApiError ? error.cause : error;
  return refusal instanceof ApiError ? refusal : undefined;
}

/** Replaces the result of a call that the account is not allowed to make with undefined. */
export function undefinedIfForbidden(error: unknown): undefined {
  if (!isForbidden(error)) throw error;
}

/** Replaces a list that the account is not allowed to read with an empty one. */
export function noneIfForbidden(error: unknown): [] {
  if (isForbidden(error)) return [];
  throw error;
}

/**
 * Replaces a list that the API server refuses with an empty one: the account is not allowed to read it, or the server does not serve it.
 */
export function noneIfRefused(error: unknown): [] {
  if (error instanceof ApiError) return [];
  throw error;
}

export const LET_IT_PASS =
  'A webhook that is not responding blocks this change. Find it with kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations, set its failurePolicy to Ignore, and run this command again.';

/**
 * The error for a refusal that no caller expected. No status code distinguishes a webhook that did not answer from other failures, so the
 * hint depends on the text.
 */
export function rejected(error: ApiError, doing: string): DevloopError {
  return new DevloopError(error.code, `${doing} failed: the API server refused it: ${error.message}`, {
    hint: UNANSWERED_WEBHOOK.test(error.message) ? LET_IT_PASS : error.hint!,
    cause: error,
  });
}

/** The context in the kubeconfig of `up --embedded`, for whoever uses it after its session. */
export const EMBEDDED_CONTEXT = 'devloop-embedded';

const TLS_CODES = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS|INVALID_(PURPOSE|CA)|UNSPECIFIED)/;

export function connectionError(selected: SelectedContext, error: unknown): DevloopError {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const cause = messageOf(error) || code;
  const server = `The API server of context ${selected.context} (${selected.server})`;
  const check = `Check: kubectl --context ${shellWord(selected.context)} get --raw /version`;
  if (TLS_CODES.test(code)) {
    // After the semicolon, Node's message gives advice for developers of Node programs.
    const message = `${server} presented a certificate that is not trusted: ${cause.split(';')[0]}`;
    const hint = `The kubeconfig does not trust that certificate. ${check}`;
    return new DevloopError('cluster.unreachable', message, { hint, cause: error });
  }
  const hint =
    selected.context === EMBEDDED_CONTEXT
      ? 'Its session of `up --embedded` has ended, and its API server with it. To use your own kubeconfig again: unset KUBECONFIG'
      : `Is the cluster running, and the VPN connected? ${check}`;
  return new DevloopError('cluster.unreachable', `${server} does not answer: ${cause}`, {
    hint,
    cause: error,
  });
}

export function unauthorizedError(selected: SelectedContext, cause?: unknown): DevloopError {
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
      hint: `Log in again the way you usually do, then check: kubectl --context ${shellWord(selected.context)} auth whoami`,
      cause,
    },
  );
}

function expiredClientCertificate(selected: SelectedContext): string | undefined {
  const { certData, certFile } = selected.user;
  if (certData === '' && certFile === '') return undefined;
  try {
    const pem = certData === '' ? readFileSync(certFile) : Buffer.from(certData, 'base64');
    const until = new X509Certificate(pem).validToDate;
    return until.getTime() < Date.now() ? until.toISOString() : undefined;
  } catch {
    return undefined;
  }
}
