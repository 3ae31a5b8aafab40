/** How devloop makes kube-apiserver call a probe, and what the answer shows about the route. */
import type { ClusterApi } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import type { ObjectRef } from '../api/kinds.ts';
import { whileAway } from '../api/while-away.ts';
import { PROBE_LABEL, PROBE_WEBHOOK, probeObjectName } from '../names.ts';

/** How long a dry run is repeated while the API server is away. It changes nothing, so it can be repeated. */
const AWAY_LIMIT_MS = 10_000;

/** How a path carries a probe, and how its answer is read. The caller passes in the gateway's own functions. */
export interface ProbeLanguage {
  path(nonce: string): string;
  read(answer: string): { nonce: string; session: string } | undefined;
}

/** The result of one probe. `cause` is kube-apiserver's own text; `pending`: whether the answer shows nothing about the route. */
export type ProbeAnswer =
  | { reached: true; latencyMs: number }
  | { reached: false; pending: boolean; cause: string };

/** The result if kube-apiserver called the probe and nothing denied it: only a server that allows every request gives such an answer. */
export const ALLOWED = { pending: false, cause: 'something else answered the probe, and allowed it' };

export function isOurs(refusal: string): boolean {
  return refusal.includes(PROBE_WEBHOOK);
}

/** `answer`: kube-apiserver's refusal of the dry run, or undefined when nothing refused it. */
export function answerOf(
  answer: string | undefined,
  nonce: string,
  sessionId: string,
  language: ProbeLanguage,
): 'reached' | { pending: boolean; cause: string } {
  if (answer === undefined) return { pending: true, cause: 'kube-apiserver does not know the probe yet' };
  // Something else refused the dry run, which shows nothing about the route.
  if (!isOurs(answer)) return { pending: true, cause: answer };
  const read = language.read(answer);
  if (read?.nonce === nonce && read.session === sessionId) return 'reached';
  return { pending: false, cause: causeOf(answer) };
}

/** The refusal of the dry run; undefined if nothing refused it, for example because the API server has not seen the configuration yet. */
export async function dryRun(
  api: ClusterApi,
  namespace: string,
  nonce: string,
  onWarning: (text: string) => void = () => {},
): Promise<string | undefined> {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: probeObjectName(nonce), namespace, labels: { [PROBE_LABEL]: nonce } },
  };
  try {
    const ref: ObjectRef = { kind: 'ConfigMap', namespace, name: object.metadata.name };
    const attempt = () => api.create(ref, object, { query: { dryRun: 'All' }, onWarning });
    await whileAway(attempt, { limitMs: AWAY_LIMIT_MS });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

/** The innermost cause in `failed calling webhook "…": failed to call webhook: Post "…": <cause>`. */
function causeOf(answer: string): string {
  return /failed to call webhook: (?:Post "[^"]*": )?(.*)$/s.exec(answer)?.[1] ?? answer;
}
