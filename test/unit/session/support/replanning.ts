import { join } from 'node:path';
import type { ClusterApi } from '../../../../src/cluster/api/client.ts';
import type { EnvVar, Volume } from '../../../../src/cluster/api/workloads.ts';
import type { Work } from '../../../../src/cluster/work.ts';
import type { ControllerPlan } from '../../../../src/controller/supervisor.ts';
import { writeNeededFiles } from '../../../../src/local/mounts.ts';
import { planController } from '../../../../src/local/plan.ts';
import { createReplanning, type Replanning } from '../../../../src/session/start/replan.ts';
import type { Session } from '../../../../src/session/start/session.ts';
import { partly } from '../../../support/partly.ts';
import { settingsOf } from '../../../support/settings.ts';
import { CHECKOUT, inputs } from '../../local/support/inputs.ts';

interface Given {
  api: ClusterApi;
  /** The session's directory. */
  directory: string;
  signal: AbortSignal;
  emit: Work['emit'];
  volumes: Volume[];
  /** `path` or `path:subPath` by the name of the volume. */
  mounts: Record<string, string>;
  env?: EnvVar[];
}

interface Planned {
  replanning: Replanning;
  work: Work;
  /** What later controllers are started with, the newest last. A call of its `start` is such a start. */
  next: { plan: Pick<ControllerPlan, 'env'>; start: () => void }[];
}

/** A session that has planned a controller with these mounts, and has written its files if `isWritten`. */
export async function replanningWith(given: Given, isWritten: boolean): Promise<Planned> {
  const { api, directory, signal, emit, volumes, mounts, env = [] } = given;
  const files = { directory, keyPairDirectory: join(directory, 'certs') };
  const { target, ...rest } = inputs({ api, files });
  const { container, object } = target.manager!;
  container.env = [...container.env!, ...env];
  container.volumeMounts = Object.entries(mounts).map(([name, at]) => {
    const [mountPath = '', subPath] = at.split(':');
    return { name, mountPath, ...(subPath === undefined ? {} : { subPath }) };
  });
  object.spec.template.spec.volumes = volumes;
  const work = { api, sessionId: 's1', signal, emit };
  const planned = await planController({ ...rest, target }, work);
  if (isWritten) await writeNeededFiles(planned.needed);
  const session = partly<Session>({
    ...{ target, files, sessionId: 's1', moved: new Map() },
    facts: rest.facts,
    plan: { standIn: [], pause: [] },
    options: { controller: true },
    io: { env: rest.env },
    context: {
      ...{ api, root: CHECKOUT, checkout: rest.checkout },
      settings: settingsOf({ controller: { run: ['./run'], env: { LEVEL: 'debug' } } }),
    },
  });
  const next: Planned['next'] = [];
  const supervisor = {
    runWith: (plan: Pick<ControllerPlan, 'env'>, start = () => {}) => void next.push({ plan, start }),
  };
  const parts = { pairs: new Map(), proxy: undefined, planned, supervisor };
  return { replanning: createReplanning(session, work, parts), work, next };
}
