/** `devloop down` without its kubeconfig: the product's own steps, in the order of down.ts. */
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import type { Emit } from '../../../src/report/events.ts';
import { heldBy, liveHolder } from '../../../src/session/context/holders.ts';
import { namedSessions, takenBy } from '../../../src/session/context/named.ts';
import { answerMeans } from '../../../src/session/end/answer-instead.ts';
import { restoreDead } from '../../../src/session/end/restore-dead.ts';
import { MANAGER_READY_SECONDS } from '../../../src/session/end/restore-pass.ts';
import { reportKept } from '../../../src/session/end/unfinished.ts';
import { settingsOf } from '../settings.ts';
import { NAMESPACE } from './objects.ts';
import { ELSEWHERE, type Session } from './session.ts';
import { clientOf, newProcess, type World } from './world.ts';

/** Resolves with the error of the command, if it failed. */
export async function runDown(world: World, others: Session[], takeOver: boolean): Promise<unknown[]> {
  const process = newProcess('down', []);
  const api = clientOf(world, process);
  const emit: Emit = (event) => world.tell(event);
  const observer = { api, emit, signal: new AbortController().signal };
  const failures: unknown[] = [];
  const { marked } = await findMarked(api, [NAMESPACE], { secrets: false });
  for (const [sessionId, objects] of namedSessions(marked, { services: [] })) {
    const look = () => findMarked(api, [NAMESPACE], { sessionId });
    try {
      const holder = takeOver
        ? undefined
        : await liveHolder(observer, ELSEWHERE, { sessionId, objects }, look);
      if (holder) throw heldBy(holder, undefined);
      process.sessions.add(sessionId);
      for (const one of others) one.isDisturbed ||= one.process.name === sessionId;
      const target = async (): Promise<never> => {
        throw new Error('nothing blocks the restore');
      };
      const taken = takenBy(sessionId, objects);
      const dead = { namespaces: [NAMESPACE], taken, mayAnswer: takeOver, isAwaited: true, target };
      const context = { api, settings: settingsOf() } as Parameters<typeof answerMeans>[0];
      const means = answerMeans(context, { env: {} } as Parameters<typeof answerMeans>[1], {});
      const options = { managerReadySeconds: MANAGER_READY_SECONDS };
      reportKept(await restoreDead({ ...observer, sessionId }, dead, means, options), emit);
    } catch (error) {
      failures.push(error);
    }
  }
  return failures;
}
