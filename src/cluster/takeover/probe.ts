import { randomBytes } from 'node:crypto';
import { DevloopError } from '../../errors.ts';
import { describe } from '../../report/object-name.ts';
import { isNotFound } from '../api/errors.ts';
import type { ObjectRef } from '../api/kinds.ts';
import { type Permission, permissionsOn } from '../api/permissions.ts';
import { createMarked, inRounds } from '../marks/change.ts';
import { ANY_SESSION, probeConfigurationName } from '../names.ts';
import type { PlannedChange, Step } from '../step.ts';
import type { Work } from '../work.ts';
import { ALLOWED, answerOf, dryRun, isOurs, type ProbeAnswer, type ProbeLanguage } from './probe-answer.ts';
import {
  isOfWitness,
  type ProbedService,
  type ProbeWebhook,
  probeConfiguration,
  probeWebhook,
  witnessNonce,
  witnessOf,
} from './probe-configuration.ts';

export interface ProbeTarget extends ProbedService {
  /** How many probes must succeed as proof, since a single success may be chance; 1 by default. */
  count?: number;
}

export interface Prober extends AsyncDisposable {
  /** Makes one dry-run creation that triggers only our own webhook configuration. */
  once(): Promise<ProbeAnswer>;
  /** Sends all `count` probes of the target except the first at the same time, each over a connection of its own. */
  others(): Promise<ProbeAnswer[]>;
  /** Sends the same probes with one dry run. Resolves to whether that shows that the gateway has answered all of them. */
  reachesTogether(): Promise<boolean>;
}

type ProbeApply = (work: Work, language: ProbeLanguage) => Promise<Prober>;

function probePermissions(namespace: string): Permission[] {
  const why = 'verify the route';
  return [
    ...permissionsOn('ConfigMap', 'create', { namespace, why: `${why} with a dry run` }),
    ...permissionsOn('ValidatingWebhookConfiguration', 'get list create patch delete', { why }),
  ];
}

/**
 * Verifies that kube-apiserver reaches this session's gateway through a Service. It creates a webhook configuration that matches only
 * objects with a random label, and makes a server-side dry run, which the gateway denies with the nonce. If the route is broken, the API
 * server's refusal names the exact cause.
 */
export function createProber(target: ProbeTarget): Step<ProbeApply> {
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
        const own = nonces.map((nonce, index) => {
          const together = index === 0 ? undefined : togetherOf(nonces[0]!);
          return probeWebhook(target, { nonce, path: language.path(nonce), timeoutSeconds, together });
        });
        return [...own, witnessOf(own[0]!, nonces[0]!)];
      };
      const ref = { ...object, name: probeConfigurationName(work.sessionId, round.nonces[0]!.slice(0, 6)) };
      const created = probeConfiguration(ref.name, work.sessionId, webhooks());
      await createMarked({ ...work, emit: () => {} }, ref, created);
      let writtenAt = performance.now();
      const write = async (path: string, value: unknown): Promise<void> => {
        await inRounds(work, ref, () => patchProbe(work, ref, path, value));
        writtenAt = performance.now();
      };
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
            await write('/webhooks', webhooks());
          } else if (!round.isKnown && performance.now() - writtenAt > OVERDUE_MS) {
            await write('/metadata/annotations', { [WRITTEN_AGAIN]: new Date().toISOString() });
          }
          return await ask(round.nonces[0]!);
        },
        others: () => Promise.all(round.nonces.slice(1).map(ask)),
        reachesTogether: async () => (await warnedBy(round, target, work, language)).size === count - 1,
        async [Symbol.asyncDispose]() {
          await work.api.remove(ref);
        },
      };
    },
  };
}

/** Whoever ends a session of another machine deletes its temporary objects first. */
async function patchProbe({ api }: Work, ref: ObjectRef, path: string, value: unknown): Promise<void> {
  try {
    await api.patch(ref, 'json', [{ op: 'add', path, value }]);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const message = `Somebody else deleted ${describe(ref)}, with which devloop was verifying the route.`;
    throw new DevloopError('session.lost', message, { hint: 'devloop status' });
  }
}

/** The probes that the gateway answers when one object triggers all but the first; none if anything refuses that object. */
async function warnedBy(
  { nonces }: Round,
  { namespace }: ProbeTarget,
  { api, sessionId }: Work,
  language: ProbeLanguage,
): Promise<Set<string>> {
  const [first, ...others] = nonces;
  const answered = new Set<string>();
  if (others.length === 0) return answered;
  const refusal = await dryRun(api, namespace, togetherOf(first!), (text) => {
    const read = language.read(text);
    if (read?.session === sessionId && others.includes(read.nonce)) answered.add(read.nonce);
  });
  return refusal === undefined ? answered : new Set();
}

/** Probes that use the same version of the configuration. */
interface Round {
  nonces: string[];
  timeoutSeconds: number;
  /** Whether an answer has shown something about the route. */
  isUsed: boolean;
  isKnown: boolean;
  isHung: boolean;
}

/**
 * After this time, the configuration is written again. kube-apiserver keeps its copy until the next write, and if it decides a review at
 * the very moment of a write, it may keep the old copy (k8s.io/apiserver, pkg/admission/configuration, configurationsCache).
 */
const OVERDUE_MS = 1_000;
const WRITTEN_AGAIN = 'devloop.dev/written-again';

function togetherOf(firstNonce: string): string {
  return `${firstNonce}-together`;
}

const MOST_SECONDS = 3;
const HUNG = /deadline exceeded|timeout/i;

/**
 * The timeout is short, because kube-proxy still sends calls to a Pod that has just ended for up to a second. Such a call hangs, but the
 * next one is answered.
 */
function firstRound(count: number): Round {
  return { nonces: newNonces(count), timeoutSeconds: 1, isUsed: false, isKnown: false, isHung: false };
}

/** A route that is only slow gets more time. */
function nextRound({ nonces, timeoutSeconds, isHung }: Round): Round {
  const next = Math.min(timeoutSeconds + Number(isHung), MOST_SECONDS);
  return { ...firstRound(nonces.length), timeoutSeconds: next };
}

/** kube-apiserver keeps its connections to the server that answered. Only a new path makes it open another connection. */
function newNonces(count: number): string[] {
  return Array.from({ length: count }, () => randomBytes(8).toString('hex'));
}
