import { setTimeout as pause } from 'node:timers/promises';
import {
  createProber,
  type ProbeAnswer,
  type Prober,
  type ProbeTarget,
} from '../../cluster/takeover/probe.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import { probePath, readProbe } from '../../gateway/probe.ts';
import type { TargetService } from '../../operator/target.ts';
import type { Route } from '../../route/route.ts';

/** What gateways and probers agree on. */
export const PROBE_LANGUAGE = { path: probePath, read: readProbe };
const PAUSE_MS = 25;
/** While kube-proxy catches up, either end may answer by chance. Ten answers in a row are no longer chance. */
export const IN_A_ROW = 10;

export interface ProbeResult {
  reached: boolean;
  latencyMs: number;
  /** If the gateway was not reached: the last reason that kube-apiserver gave. */
  cause: string;
}

/** Who answers: this session's gateway, something else, or either of them. */
export type Wanted = 'us' | 'other' | 'any';

export interface Probing {
  wanted: Wanted;
  inARow: number;
  limitMs: number;
  /** Whether it is known already why nothing will answer. It is asked once, when that has taken longer than kube-proxy needs. */
  isHopeless?: (() => Promise<boolean>) | undefined;
}

const DOUBT_MS = 4_000;

/** A call that nothing answered. Any other text of kube-apiserver comes from something that did. */
const UNANSWERED =
  /dial tcp|connection refused|no endpoints available|deadline exceeded|timeout|\bEOF\b|connection reset/i;

/**
 * Probes until the gateway (`us`), or something else (`other`), has answered `inARow` times, or the time is up. In a row, because
 * each kube-proxy and kube-apiserver learns of a new endpoint in its own time.
 */
export async function probeUntil(
  prober: Pick<Prober, 'once'>,
  { wanted, inARow, limitMs, isHopeless }: Probing,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const deadline = performance.now() + limitMs;
  const isKnownToFail = onceInDoubt(isHopeless);
  let row = 0;
  let cause = 'no answer yet';
  while (performance.now() < deadline) {
    signal.throwIfAborted();
    const answer = await prober.once();
    if (!isPending(answer)) row = isWanted(answer, wanted) ? row + 1 : 0;
    cause = answer.reached ? '' : answer.cause;
    if (row >= inARow)
      return { reached: answer.reached || wanted === 'any', latencyMs: latencyOf(answer), cause };
    if (!isWanted(answer, wanted)) await pause(PAUSE_MS);
    if (await isKnownToFail(answer)) break;
  }
  return { reached: false, latencyMs: 0, cause };
}

/** Only an answer about the route says that there was time enough. */
function onceInDoubt(isHopeless: Probing['isHopeless']): (answer: ProbeAnswer) => Promise<boolean> {
  let ask = isHopeless;
  const from = performance.now() + DOUBT_MS;
  return async (answer) => {
    if (ask === undefined || isPending(answer) || performance.now() < from) return false;
    const asked = ask;
    ask = undefined;
    return await asked();
  };
}

function isPending(answer: ProbeAnswer): boolean {
  return !answer.reached && answer.pending;
}

function latencyOf(answer: ProbeAnswer): number {
  return answer.reached ? answer.latencyMs : 0;
}

function isWanted(answer: ProbeAnswer, wanted: Wanted): boolean {
  if (answer.reached) return wanted !== 'other';
  return wanted !== 'us' && !answer.pending && !UNANSWERED.test(answer.cause);
}

/** Probes the user's own Service with the caBundle of the user's own configuration: address, port, certificate and trust at once. */
export async function serviceProber(work: Work, { service, calls, ports }: TargetService): Promise<Prober> {
  const call = calls.find((one) => one.caBundle !== '') ?? calls[0];
  const target: ProbeTarget = {
    namespace: service.metadata.namespace!,
    service: service.metadata.name,
    port: call?.port ?? ports[0]!.port,
    caBundle: call?.caBundle ?? '',
  };
  return await createProber(target).apply(work, PROBE_LANGUAGE);
}

/** `message` ends with kube-apiserver's own words. What this end of the route knows follows; without that, `otherwise` is the hint. */
export async function notReached(route: Route, message: string, otherwise: string): Promise<DevloopError> {
  const explained = await route.explain();
  const why = explained === undefined ? '' : `\n  ${explained.cause}`;
  return new DevloopError('route.none', `${message}${why}`, { hint: explained?.hint ?? otherwise });
}
