import type { Work } from '../cluster/work.ts';
import type { Gate, Supervisor } from '../controller/supervisor.ts';
import { type KeyPairs, mountPointsOf } from '../local/key-pairs.ts';
import type { DevloopEvent } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { noticeStale } from './generated/stale.ts';
import { followManifests } from './manifests.ts';
import { followConfiguration } from './start/follow-configuration.ts';
import type { Replanning } from './start/replan.ts';
import type { Session } from './start/session.ts';

/** What runs while reviews arrive. */
export interface ServeParts {
  work: Work;
  pairs: KeyPairs;
  /** What KUBECONFIG lists for a controller that the user starts. */
  kubeconfig: string[] | undefined;
  supervisor: Supervisor | undefined;
  replanning: Replanning;
  /** Holds the reviews while the controller is replaced. */
  gate: Gate | undefined;
}

/** Runs until the signal aborts: builds changed sources, replaces the controller, and uses changed configuration. */
export async function serve(session: Session, serving: ServeParts): Promise<void> {
  const { work, pairs, supervisor, replanning, gate, kubeconfig } = serving;
  const { emit, signal } = work;
  const { context, target } = session;
  if (!supervisor) emit(invitation(session));
  if (kubeconfig) emit({ type: 'controller.kubeconfig', files: kubeconfig });
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const place = { root: context.root, scratch: session.files.directory };
  const following = Promise.all([
    supervisor &&
      followConfiguration({ replanning, keyPairMounts: mountPointsOf(pairs, target.manager) }, work),
    // That of an embedded session is made of the checkout's manifests.
    ...(session.options.embedded
      ? []
      : [
          followManifests({ root: context.root, groups: session.facts.groups, target }, work),
          noticeStale(place, { ...work, env: session.io.env }),
        ]),
  ]);
  await Promise.race([ended, supervisor?.follow(gate) ?? ended]);
  await Promise.race([following, ended]);
}

export function invitation({
  target,
  plan,
  files: { keyPairDirectory },
}: Pick<Session, 'target' | 'plan' | 'files'>): DevloopEvent {
  const port = target.services[0]?.ports[0]?.targetPort;
  const isPaused = plan.pause.some(({ changes }) => changes.length > 0);
  const values = { port, keyPairDirectory, isPaused };
  return notice('session.start-process', values);
}
