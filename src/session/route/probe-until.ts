import { setTimeout as sleep } from 'node:timers/promises';
import { createProber, type Prober, type ProbeTarget } from '../../cluster/takeover/probe.ts';
import type { ProbeAnswer } from '../../cluster/takeover/probe-answer.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import { probePath, readProbe } from '../../gateway/probe.ts';
import type { TargetService } from '../../operator/target.ts';
import type { Route } from '../../route/route.ts';

/** The protocol between gateways and probers. */
export const PROBE_LANGUAGE = { path: probePath, read: readProbe };
/** The pauses between probes. Each failed probe changes its webhook configuration, which every kube-apiserver then reads again. */
const PAUSE_MS = { first: 25, most: 100, factor: 1.25 };
/** While kube-proxy catches up, either end may answer by chance. Ten equal answers are proof. */
export const PROBES = 10;

const UNKNOWN = /services? "[^"]+" not found/;

export interface ProbeResult {
  /** Whether the wanted end answered in time. */
  reached: boolean;
  /** The latency of the gateway's answer; 0 if something else answered. */
  latencyMs: number;
  /** The last reason that kube-apiserver gave for not reaching the gateway; empty if the gateway was reached. */
  cause: string;
}

/** Who answers: this session's gateway, something else, or either of them. */
export type Wanted = 'us' | 'other' | 'any';

export interface ProbeOptions {
  wanted: Wanted;
  limitMs: number;
  /** Stops at the first answer about the route, whatever it is. */
  isImpatient?: true;
  /** Whether it is already known that nothing will answer. Called once, when the answer has taken longer than kube-proxy needs. */
  isHopeless?: (() => Promise<boolean>) | undefined;
}

const DOUBT_MS = 4_000;

/** The errors of a call that nothing answered. With any other error of kube-apiserver, something did answer. */
const UNANSWERED =
  /dial tcp|connection refused|no endpoints available|deadline exceeded|timeout|\bEOF\b|connection reset/i;

/**
 * Probes until the gateway (`us`), or something else (`other`), has answered as often as the prober requires, or the time is up. One probe
 * is not enough, because each kube-proxy and kube-apiserver notices a new endpoint at its own time. The probes are sent at the same moment,
 * because a cluster can be far away.
 */
export async function probeUntil(
  prober: Pick<Prober, 'once' | 'others' | 'reachesTogether'>,
  { wanted, limitMs, isImpatient, isHopeless }: ProbeOptions,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const deadline = performance.now() + limitMs;
  const isKnownToFail = onceInDoubt(isHopeless);
  let cause = 'no answer yet';
  let pauseMs = PAUSE_MS.first;
  while (performance.now() < deadline) {
    signal.throwIfAborted();
    const first = await prober.once();
    const others = isWanted(first, wanted) ? await otherAnswers(prober, wanted) : [];
    const answer = [first, ...others].find((one) => !isWanted(one, wanted)) ?? first;
    cause = answer.reached ? '' : answer.cause;
    if (isWanted(answer, wanted)) return { reached: true, latencyMs: latencyOf(answer), cause };
    if (isImpatient && !isPending(answer)) break;
    await sleep(pauseMs);
    pauseMs = Math.min(pauseMs * PAUSE_MS.factor, PAUSE_MS.most);
    if (await isKnownToFail(answer)) break;
  }
  return { reached: false, latencyMs: 0, cause };
}

/**
 * If something else answered several probes at once, kube-apiserver would pass on only one answer, so each of these probes gets a dry run
 * of its own.
 */
async function otherAnswers(
  prober: Pick<Prober, 'others' | 'reachesTogether'>,
  wanted: Wanted,
): Promise<ProbeAnswer[]> {
  return wanted === 'us' && (await prober.reachesTogether()) ? [] : await prober.others();
}

/** Calls `isHopeless` only after an answer about the route, since only such an answer shows that there was enough time. */
function onceInDoubt(isHopeless: ProbeOptions['isHopeless']): (answer: ProbeAnswer) => Promise<boolean> {
  let ask = isHopeless;
  const from = performance.now() + DOUBT_MS;
  return async (answer) => {
    if (ask === undefined || isPending(answer) || performance.now() < from) return false;
    const asked = ask;
    ask = undefined;
    return await asked();
  };
}

/** Whether the answer is not about the route yet, because kube-apiserver does not know the probe or its Service. */
function isPending(answer: ProbeAnswer): boolean {
  return !answer.reached && (answer.pending || UNKNOWN.test(answer.cause));
}

function latencyOf(answer: ProbeAnswer): number {
  return answer.reached ? answer.latencyMs : 0;
}

function isWanted(answer: ProbeAnswer, wanted: Wanted): boolean {
  if (answer.reached) return wanted !== 'other';
  return wanted !== 'us' && !answer.pending && !UNANSWERED.test(answer.cause);
}

/** Probes the user's own Service with the caBundle of the user's own configuration, which verifies address, port, certificate and trust. */
export async function serviceProber(
  work: Work,
  { service, calls, ports }: TargetService,
  count = PROBES,
): Promise<Prober> {
  const call = calls.find((one) => one.caBundle !== '') ?? calls[0];
  const target: ProbeTarget = {
    namespace: service.metadata.namespace!,
    service: service.metadata.name,
    port: call?.port ?? ports[0]!.port,
    caBundle: call?.caBundle ?? '',
    count,
  };
  return await createProber(target).apply(work, PROBE_LANGUAGE);
}

/**
 * `message` ends with kube-apiserver's own words. The error adds what this end of the route knows; if that is nothing, `otherwise` is the
 * hint.
 */
export async function notReached(route: Route, message: string, otherwise: string): Promise<DevloopError> {
  const explained = await route.explain();
  const why = explained === undefined ? '' : `\n  ${explained.cause}`;
  return new DevloopError('route.none', `${message}${why}`, { hint: explained?.hint ?? otherwise });
}
