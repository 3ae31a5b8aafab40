import { allDone, pollUntil, reportWhileWaiting } from '../../async.ts';
import { noCheckoutFacts } from '../../checkout/facts.ts';
import { isForbidden } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { answered, whileAway } from '../../cluster/api/while-away.ts';
import type { Pod } from '../../cluster/api/workloads.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { relayState } from '../../cluster/relay/state.ts';
import { findMarked, type MarkedObject, type SearchResult } from '../../cluster/takeover/find-marked.ts';
import { holdersIn } from '../../cluster/takeover/own-leases.ts';
import { isUnansweredWebhook } from '../../cluster/takeover/pause/refusals.ts';
import { pauseFor } from '../../cluster/takeover/pause/strategies.ts';
import { isChanged, relayPods, removeRelays } from '../../cluster/takeover/restore-steps.ts';
import { isControllerSlice, isReadySlice, slicesOf } from '../../cluster/takeover/slices.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import {
  type ClosedWebhook,
  closedWebhooks,
  policyCommand,
  type TakenObject,
} from '../../operator/closed-webhooks.ts';
import type { Target } from '../../operator/target.ts';
import { listConfigurations, listWebhookServices, servicesCalledBy } from '../../operator/webhooks.ts';
import { shellWord } from '../../phrases.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { describe } from '../../report/object-name.ts';
import type { OpenRoute } from '../route/routing.ts';
import { type AnswerMeans, answerInstead } from './answer-instead.ts';
import { isHandedOver } from './hand-over.ts';
import { AWAY_LIMIT_MS, restore } from './restore.ts';
import { isAway, MANAGER_READY_SECONDS, type RestoreOptions, type RestoreSummary } from './restore-pass.ts';
import { waitUntilAnswering } from './wait-until-answering.ts';

/** A relay exits a minute after it has lost its client. */
const RELAY_EXIT_SECONDS = 75;

/** A session that is restored by another process, usually because its own is gone. */
export interface DeadSession {
  /** The namespaces that contain its objects. */
  namespaces: string[];
  taken: TakenObject[];
  /** Whether the session may still be running and answering, because `--take-over` restores it without checking. */
  mayAnswer: boolean;
  /** Whether to wait until the in-cluster Pods answer again. */
  isAwaited: boolean;
  /** The operator that the session took over. */
  target(): Promise<Target>;
}

/**
 * Restores a dead session. If the operator's own webhooks would block the restore, this machine answers them until the manager does. If
 * this machine cannot, and at least one of the webhooks is certain to match the changes, nothing is restored, and the error names all of
 * the webhooks.
 */
export async function restoreDead(
  work: Work,
  session: DeadSession,
  means: AnswerMeans,
  options: RestoreOptions,
): Promise<RestoreSummary> {
  const { taken } = session;
  const { api, emit, signal } = work;
  const takenServices = taken.filter(({ ref }) => ref.kind === 'Service');
  const services = takenServices.map(({ ref }) => ref);
  const look = async () => {
    const configurations = listConfigurations(api);
    // Listing the marked objects again costs little: the API server filters them by label.
    const [closed, { found, places }] = await Promise.all([
      closedWebhooks(api, taken, configurations),
      findEverywhere(work, session.namespaces),
    ]);
    return { closed, found, places, called: servicesCalledBy(await configurations.catch(() => [])) };
  };
  const patience = { limitMs: AWAY_LIMIT_MS, mayPass: isAway, emit, signal };
  const { closed, found, places: namespaces, called } = await whileAway(look, patience);
  const afterServices = session.isAwaited
    ? async () => waitUntilAnswering(work, takenServices, called)
    : undefined;
  // A `down` that was killed may have restored some objects, and left only the Leases that name them.
  const awaited = session.isAwaited ? { ...options, taken: taken.map(({ ref }) => ref) } : options;
  const alone = { ...awaited, found, isUnanswered: !session.mayAnswer, afterServices };
  if (closed.length === 0) return await restore(work, namespaces, alone);
  if (await answersItself(work, found, services)) return await restore(work, namespaces, alone);
  await using answering = closed.every(({ isScalable }) => isScalable)
    ? undefined
    : await answerOrRefuse(work, session, { closed, marked: found.marked, means });
  if (answering !== undefined) await pauseBlocked(work, await session.target());
  return await restore(work, namespaces, {
    ...awaited,
    managerReadySeconds: MANAGER_READY_SECONDS,
    async afterServices() {
      const webhooks = await listWebhookServices(api, noCheckoutFacts()).catch(() => []);
      await waitUntilAnswering(work, takenServices, webhooks);
      await answering?.gateways.drain();
    },
  });
}

/**
 * The session's objects, and the namespaces that were searched. An account that is not allowed to list the whole cluster finds objects only
 * in the namespaces that it searches, and the session's Leases may name others.
 */
async function findEverywhere(
  { api, sessionId }: Work,
  namespaces: string[],
): Promise<{ found: SearchResult; places: string[] }> {
  const found = await findMarked(api, namespaces, { sessionId });
  const targets = holdersIn(found.marked).flatMap((holder) => holder.targets);
  const places = [...new Set([...namespaces, ...targets.flatMap(({ namespace }) => namespace ?? [])])];
  if (places.length === namespaces.length) return { found, places };
  return { found: await findMarked(api, places, { sessionId }), places };
}

/**
 * Whether the operator answers its own webhooks: the session ended before it changed the operator, or after the operator was restored, or
 * its Services could not be restored, so they were handed over to the Pods.
 */
async function answersItself(
  work: Work,
  { marked, unseen }: SearchResult,
  services: ObjectRef[],
): Promise<boolean> {
  const { api, sessionId } = work;
  const isPaused = marked.some(({ ref }) => ref.kind !== 'Service' && isChanged(ref, sessionId));
  if (unseen.length > 0 || isPaused) return false;
  const answers = await allDone(
    services.map(async (ref) => {
      const service = await api.get<Service>(ref);
      const slices = service === undefined ? [] : await slicesOf(api, service);
      if (service !== undefined && sessionOf(service) === sessionId)
        return await isHandedOver(work, service, slices);
      return slices.filter(isControllerSlice).some(isReadySlice);
    }),
  ).catch((error) => {
    if (isForbidden(error)) return [false];
    throw error;
  });
  return answers.every(Boolean);
}

async function answerOrRefuse(
  work: Work,
  session: DeadSession,
  { closed, marked, means }: { closed: ClosedWebhook[]; marked: MarkedObject[]; means: AnswerMeans },
): Promise<OpenRoute | undefined> {
  work.emit(notice('restore.answers-instead', { webhooks: listOf(closed) }));
  await endRelays(work, marked);
  try {
    return await answerInstead(work, await session.target(), means);
  } catch (error) {
    work.signal.throwIfAborted();
    if (closed.every(({ isUncertain }) => isUncertain)) return undefined;
    throw blocked(work, closed, error);
  }
}

/**
 * Deletes the relays of the dead session. No other session can use them, and their Pods keep connections open as long as they run. If a webhook
 * that does not answer blocks the deletion, the Pods exit on their own.
 */
async function endRelays(work: Work, marked: MarkedObject[]): Promise<void> {
  const { api, emit, signal } = work;
  await removeRelays(work, marked).catch(() => {});
  const pods = relayPods(marked);
  const haveEnded = async (): Promise<boolean> => {
    const now = await Promise.all(pods.map(({ ref }) => api.get<Pod>(ref)));
    return now.every((pod) => ['gone', 'failed'].includes(relayState(pod, Number.POSITIVE_INFINITY).is));
  };
  const what = { for: 'the relay of the dead session to exit', limitSeconds: RELAY_EXIT_SECONDS };
  const timing = { everyMs: 500, limitMs: RELAY_EXIT_SECONDS * 1000, signal };
  await reportWhileWaiting(pollUntil(answered(haveEnded), timing), what, emit);
}

/** Pauses the manager again if its new Pods were refused because nothing answered a webhook. */
async function pauseBlocked(work: Work, { manager }: Target): Promise<void> {
  if (manager === undefined) return;
  const pause = pauseFor(manager);
  const refusal = await pause?.refusedBy(work.api, manager.object);
  if (isUnansweredWebhook(refusal)) await pause?.pauseAgain?.(work, manager);
}

function blocked({ api, sessionId }: Work, closed: ClosedWebhook[], error: unknown): DevloopError {
  const message = `Session ${sessionId} is not restored. The operator's own webhooks block the restore while nothing answers them: ${listOf(closed)}. devloop cannot answer them: ${messageOf(error)}`;
  const pass = policyCommand(api.context, closed, 'Ignore');
  const back = policyCommand(api.context, closed, 'Fail');
  return new DevloopError('restore.blocked', message, {
    hint: `${pass} && devloop down --context ${shellWord(api.context)}; ${back}`,
    cause: error,
  });
}

function listOf(closed: ClosedWebhook[]): string {
  const configurations = Map.groupBy(closed, ({ from }) => describe(from));
  return [...configurations]
    .map(([from, all]) => `${from} (${all.map(({ name }) => name).join(', ')})`)
    .join(', ');
}
