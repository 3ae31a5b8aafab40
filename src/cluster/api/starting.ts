import { ApiError } from './errors.ts';
import type { Refusal } from './switch-protocol.ts';

/** Calls that are refused at the same moment share one question. */
const FRESH_MS = 500;
const LIMIT_MS = 5_000;

/**
 * Whether the API server is still starting. Before it has read its roles, it refuses everything to everybody but its administrators, as if
 * a permission were missing: also /readyz, which every user is allowed to read otherwise. Without an answer, it is taken to be starting.
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

/** The refusal of a call; one that may pass, if the API server is still starting. */
export async function refusal(
  request: string,
  answer: Refusal,
  isStarting: () => Promise<boolean>,
): Promise<ApiError> {
  const error = ApiError.from(request, answer);
  if (!error.isForbidden || !(await isStarting())) return error;
  const message = `The API server has just started, and does not know yet what your account is allowed to do: ${error.message}`;
  return new ApiError(message, 503, 'ServiceUnavailable');
}
