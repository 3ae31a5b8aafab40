import type { Work } from '../cluster/work.ts';
import type { Gate, Supervisor } from '../controller/supervisor.ts';
import { followKeyPairs } from '../local/follow-key-pairs.ts';
import { writeFoundPair } from '../local/key-pair-files.ts';
import { type FoundPair, type KeyPairs, mountPointsOf } from '../local/key-pairs.ts';
import type { TargetService } from '../operator/target.ts';
import type { DevloopEvent } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { noticeStale } from './generated/stale.ts';
import { followManifests } from './manifests.ts';
import type { OpenRoute } from './route/routing.ts';
import { keyPairSearch } from './start/controller.ts';
import { followConfiguration } from './start/follow-configuration.ts';
import type { Replanning } from './start/replan.ts';
import type { Session } from './start/session.ts';

/** What runs while reviews arrive. */
export interface ServeParts {
  work: Work;
  pairs: KeyPairs;
  /** Where the controller looks for its key pair. */
  keyPairDirectories: string[];
  /** What KUBECONFIG lists for a controller that the user starts. */
  kubeconfig: string[] | undefined;
  route: OpenRoute | undefined;
  supervisor: Supervisor | undefined;
  replanning: Replanning;
  /** The Services with all their calls as they are now. */
  called: () => TargetService[];
  /** Holds the reviews while the controller is replaced. */
  gate: Gate | undefined;
}

/** Runs until the signal aborts: builds changed sources, replaces the controller, and uses renewed certificates and
 * changed configuration. */
export async function serve(session: Session, serving: ServeParts): Promise<void> {
  const { work, pairs, called, supervisor, replanning, gate, kubeconfig } = serving;
  const { emit, signal } = work;
  const { context, target } = session;
  if (!supervisor) emit(invitation(session));
  if (kubeconfig) emit({ type: 'controller.kubeconfig', files: kubeconfig });
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const useRenewed = (serverName: string, found: FoundPair) =>
    useKeyPair(serverName, found, { ...serving, target });
  const search = { ...keyPairSearch(context, target), called };
  const place = { root: context.root, scratch: session.files.directory };
  const following = Promise.all([
    followKeyPairs(search, pairs, useRenewed, { emit, signal }),
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

/**
 * The gateway gets the key pair first: kube-apiserver verifies the gateway's certificate, and that must not depend on the controller's
 * files.
 */
export async function useKeyPair(
  serverName: string,
  found: FoundPair,
  { work, target, keyPairDirectories, route }: UsingPairs,
): Promise<void> {
  route?.gateways.present(serverName, found.pair);
  // The controller serves with the key pair of the first Service; the gateway has those of all Services.
  if (serverName !== target.services[0]?.serverName) return;
  for (const directory of keyPairDirectories) await writeFoundPair(directory, found, work.emit);
}

interface UsingPairs extends Pick<ServeParts, 'keyPairDirectories'> {
  work: Pick<Work, 'emit'>;
  target: { services: Pick<TargetService, 'serverName'>[] };
  route: { gateways: Pick<OpenRoute['gateways'], 'present'> } | undefined;
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
