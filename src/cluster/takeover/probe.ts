import { randomBytes } from 'node:crypto';
import type { ClusterApi } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import type { ObjectRef } from '../api/kinds.ts';
import { type Permission, permissionsOn } from '../api/permissions.ts';
import { whileAway } from '../api/repeat.ts';
import { createMarked, inRounds } from '../marks/change.ts';
import {
  ANY_SESSION,
  PROBE_LABEL,
  PROBE_WEBHOOK,
  probeConfigurationName,
  probeObjectName,
} from '../names.ts';
import type { PlannedChange, Step } from '../step.ts';
import type { Work } from '../work.ts';
import {
  isOfWitness,
  type ProbedService,
  type ProbeWebhook,
  probeConfiguration,
  probeWebhook,
  witnessNonce,
  witnessOf,
} from './probe-configuration.ts';

/** A dry run changes nothing, so it can be repeated. */
const AWAY_LIMIT_MS = 10_000;

/** How the gateway is asked, and answers. The caller passes in the gateway's own functions. */
export interface ProbeLanguage {
  path(nonce: string): string;
  read(answer: string): { nonce: string; session: string } | undefined;
}

/** The result of one probe. `cause` is kube-apiserver's own text; `pending`: it says nothing about the route yet. */
export type ProbeAnswer =
  | { reached: true; latencyMs: number }
  | { reached: false; pending: boolean; cause: string };

export interface ProbeTarget extends ProbedService {
  /** How many answers are proof, where one may be chance; 1 by default. */
  count?: number;
}

export interface Prober extends AsyncDisposable {
  /** One dry-run creation that only our own webhook configuration sees. */
  once(): Promise<ProbeAnswer>;
  /** The rest of the target's count, at the same moment, each over a connection of its own. */
  others(): Promise<ProbeAnswer[]>;
}

type Probing = (work: Work, language: ProbeLanguage) => Promise<Prober>;

export function probePermissions(namespace: string): Permission[] {
  const why = 'verify the route';
  return [
    ...permissionsOn('ConfigMap', 'create', { namespace, why: `${why} with a dry run` }),
    ...permissionsOn('ValidatingWebhookConfiguration', 'get list create patch delete', { why }),
  ];
}

/**
 * Verifies that kube-apiserver reaches this session's gateway through a Service: a webhook configuration of our own, for objects
 * with a random label only, and a server-side dry run that the gateway denies with the nonce. Where the route is broken, the API
 * server's refusal names the exact cause.
 */
export function createProber(target: ProbeTarget): Step<Probing> {
  const object: ObjectRef = {
    kind: 'ValidatingWebhookConfiguration',
    name: probeConfigurationName(ANY_SESSION, '*'),
  };
  const change: PlannedChange = { action: 'create', object, detail: 'to verify the route', temporary: true };
  return {
    changes: [change],
    permissions: probePermissions(target.namespace),
    async apply(work, language) {
      const { count = 1 } = target;
      let round = firstRound(count);
      const webhooks = (): ProbeWebhook[] => {
        const { nonces, timeoutSeconds } = round;
        const own = nonces.map((nonce) =>
          probeWebhook(target, { nonce, path: language.path(nonce), timeoutSeconds }),
        );
        return [...own, witnessOf(own[0]!, nonces[0]!)];
      };
      const ref = { ...object, name: probeConfigurationName(work.sessionId, round.nonces[0]!.slice(0, 6)) };
      const created = probeConfiguration(ref.name, work.sessionId, webhooks());
      await createMarked({ ...work, emit: () => {} }, ref, created);
      work.emit({ type: 'change', ...change, object: ref });
      const refusal = (nonce: string): Promise<string | undefined> =>
        dryRun(work.api, target.namespace, nonce);
      const ask = async (nonce: string): Promise<ProbeAnswer> => {
        const wasKnown = round.isKnown;
        const started = performance.now();
        const answer = await refusal(nonce);
        const latencyMs = performance.now() - started;
        round.isKnown ||=
          answer === undefined ? isOfWitness(await refusal(witnessNonce(round.nonces[0]!))) : isOurs(answer);
        const read =
          wasKnown && answer === undefined ? ALLOWED : answerOf(answer, nonce, work.sessionId, language);
        if (read === 'reached') return { reached: true, latencyMs };
        round.isUsed ||= !read.pending;
        round.isHung ||= HUNG.test(read.cause);
        return { reached: false, ...read };
      };
      return {
        async once() {
          if (round.isUsed) {
            round = nextRound(round);
            const patch = [{ op: 'replace', path: '/webhooks', value: webhooks() }];
            await inRounds(work, ref, () => work.api.patch(ref, 'json', patch));
          }
          return await ask(round.nonces[0]!);
        },
        others: () => Promise.all(round.nonces.slice(1).map(ask)),
        async [Symbol.asyncDispose]() {
          await work.api.remove(ref);
        },
      };
    },
  };
}

/** Probes that were asked with one state of the configuration. */
interface Round {
  nonces: string[];
  timeoutSeconds: number;
  /** Something about the route was answered. */
  isUsed: boolean;
  isKnown: boolean;
  isHung: boolean;
}

const MOST_SECONDS = 3;
const HUNG = /deadline exceeded|timeout/i;

/** A call to a Pod that has just gone hangs, while the next one is answered: kube-proxy leads to it for up to a second. */
function firstRound(count: number): Round {
  return { nonces: newNonces(count), timeoutSeconds: 1, isUsed: false, isKnown: false, isHung: false };
}

/** A route that is only slow gets more time. */
function nextRound({ nonces, timeoutSeconds, isHung }: Round): Round {
  const next = Math.min(timeoutSeconds + Number(isHung), MOST_SECONDS);
  return { ...firstRound(nonces.length), timeoutSeconds: next };
}

/** kube-apiserver keeps connections to whoever answered. Only a new path makes it open another one. */
function newNonces(count: number): string[] {
  return Array.from({ length: count }, () => randomBytes(8).toString('hex'));
}

/** Only a server that allows whatever it is asked answers a probe so. */
const ALLOWED = { pending: false, cause: 'something else answered the probe, and allowed it' };

function isOurs(refusal: string): boolean {
  return refusal.includes(PROBE_WEBHOOK);
}

/** `answer`: kube-apiserver's refusal of the dry run, or undefined when nothing refused it. */
function answerOf(
  answer: string | undefined,
  nonce: string,
  sessionId: string,
  language: ProbeLanguage,
): 'reached' | { pending: boolean; cause: string } {
  if (answer === undefined) return { pending: true, cause: 'kube-apiserver does not know the probe yet' };
  // Somebody else refused it, which says nothing about the route.
  if (!isOurs(answer)) return { pending: true, cause: answer };
  const read = language.read(answer);
  if (read?.nonce === nonce && read.session === sessionId) return 'reached';
  return { pending: false, cause: causeOf(answer) };
}

/** The refusal of the dry run; undefined when nothing refused it, since the API server has not seen the configuration yet. */
async function dryRun(api: ClusterApi, namespace: string, nonce: string): Promise<string | undefined> {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: probeObjectName(nonce), namespace, labels: { [PROBE_LABEL]: nonce } },
  };
  try {
    const ref: ObjectRef = { kind: 'ConfigMap', namespace, name: object.metadata.name };
    const attempt = () => api.create(ref, object, { query: { dryRun: 'All' } });
    await whileAway(attempt, { limitMs: AWAY_LIMIT_MS });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

/** The innermost cause in `failed calling webhook "…": failed to call webhook: Post "…": <cause>`. */
export function causeOf(answer: string): string {
  return /failed to call webhook: (?:Post "[^"]*": )?(.*)$/s.exec(answer)?.[1] ?? answer;
}
