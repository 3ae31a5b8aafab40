import type { LeaseHolder } from '../../cluster/takeover/lease-holder.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { type InTheWay, namespacesOf, takenObjects } from '../context/holders.ts';
import { answerMeans } from '../end/answer-instead.ts';
import { restoreDead } from '../end/restore-dead.ts';
import { MANAGER_READY_SECONDS } from '../end/restore-pass.ts';
import { stopLocalSession } from '../end/stop-local.ts';
import { reportKept } from '../end/unfinished.ts';
import type { PlannedTakeOver, UpCommand } from './session.ts';
import { discoverAgain } from './target.ts';

/** Restores what other sessions changed on the target, and returns the target as it is after that. */
export async function recoverSessions(
  command: UpCommand,
  { inTheWay, ...found }: PlannedTakeOver & { inTheWay: InTheWay },
): Promise<PlannedTakeOver> {
  const { context, io, options } = command;
  const { emit, signal } = io;
  const { target } = found;
  if (inTheWay.sessions.length === 0) return found;
  const running = new Set(inTheWay.living.map(({ sessionId }) => sessionId));
  // A session of this machine can restore everything itself, and its controller uses the ports that this session needs.
  for (const holder of inTheWay.living.filter(({ local }) => local)) {
    if (await stopLocalSession(holder, command.machine, io)) running.delete(holder.sessionId);
    else emit(notStopped(holder));
  }
  const dead = {
    namespaces: namespacesOf(target),
    taken: takenObjects(target),
    mayAnswer: options.takeOver,
    target: async () => target,
  };
  for (const sessionId of inTheWay.sessions) {
    emit(notice('restore.other-session', { session: sessionId }));
    const work = { api: context.api, sessionId, emit, signal };
    // A dead session answers no reviews, so there is nothing to wait for. A running one answers them until the manager does.
    const isAwaited = running.has(sessionId);
    const managerReadySeconds = isAwaited ? MANAGER_READY_SECONDS : 0;
    const means = answerMeans(context, io, options);
    const restored = await restoreDead(work, { ...dead, isAwaited }, means, { managerReadySeconds });
    reportKept(restored, emit);
  }
  return await discoverAgain(command, found);
}

function notStopped({ sessionId, identity, holder }: LeaseHolder): DevloopEvent {
  const pid = holder?.pid;
  const values = { session: sessionId, holder: identity, pid };
  return notice('restore.cannot-stop', values);
}
