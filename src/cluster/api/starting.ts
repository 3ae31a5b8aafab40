import { ApiError, isForbidden } from './errors.ts';
import type { Refusal } from './switch-protocol.ts';

/** Calls that are refused within this time share one request to /readyz. */
const FRESH_MS = 500;
const LIMIT_MS = 5_000;

/**
 * Finds out whether the API server is still starting. Until it has read its roles, it answers 403 to everybody but its administrators, even
 * for /readyz, which every user is otherwise allowed to read. If it does not answer, it counts as starting.
 */
export function createStarting(
  readReadyz: (signal: AbortSignal) => Promise<{ status: number }>,
): () => Promise<boolean> {
  let asked: { at: number; answer: Promise<boolean> } | undefined;
  const ask = async (): Promise<boolean> => {
    const { status } = await readReadyz(AbortSignal.timeout(LIMIT_MS)).catch(() => ({ status: 503 }));
    return status === 403 || status >= 500;
  };
  return () => {
    if (asked === undefined || performance.now() - asked.at > FRESH_MS)
      asked = { at: performance.now(), answer: ask() };
    return asked.answer;
  };
}

/** The refusal of a call. While the API server is still starting, a 403 becomes a 503, so that the call is repeated. */
export async function refusal(
  request: string,
  answer: Refusal,
  isStarting: () => Promise<boolean>,
): Promise<ApiError> {
  const error = ApiError.from(request, answer);
  if (!isForbidden(error) || !(await isStarting())) return error;
  const message = `The API server has just started, and does not know yet what your account is allowed to do: ${error.message}`;
  return new ApiError(message, 503, 'ServiceUnavailable');
}
