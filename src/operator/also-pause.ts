import type { ClusterApi } from '../cluster/api/client.ts';
import { refOf } from '../cluster/api/kinds.ts';
import type { Workload } from '../cluster/api/workloads.ts';
import { DevloopError } from '../errors.ts';
import { describe } from '../report/object-name.ts';
import { hintOfMissing } from './missing.ts';
import { isNeededByOthers, isRunning, type Surroundings } from './reconcilers.ts';
import { type Reconciler, splitName, type TargetManager, type TargetNames } from './target.ts';

/**
 * The Deployments to pause besides the manager: those that the user or a file named and, unless the user wants no other, the suspects. Throws
 * 'target.not-found' for a name without a Deployment, and 'pause.unsupported' for a Deployment that others need.
 */
export async function chooseReconcilers(
  {
    api,
    names: { alsoPause },
    manager,
    suspects,
  }: { api: ClusterApi; names: TargetNames; manager?: TargetManager; suspects: Reconciler[] },
  surroundings: Surroundings,
): Promise<Reconciler[]> {
  if (alsoPause === undefined) return suspects;
  const { file } = alsoPause;
  const named = [...new Set(alsoPause.named)];
  const found = await Promise.all(
    named.map(async (name) => {
      const object = await readNamed(api, name, named);
      const ref = refOf('Deployment', object.metadata);
      const suspect = suspects.find((one) => describe(one.ref) === describe(ref));
      const isOther = manager === undefined || describe(ref) !== describe(manager.ref);
      // There is nothing to do for the manager, which is paused in any case, nor for a Deployment that somebody else has scaled down.
      if (!isOther || !isRunning(object)) return [];
      if (suspect === undefined && (await isNeededByOthers(api, { ref, object }, surroundings)))
        throw needed(name);
      const by = file === undefined ? { isNamed: true as const } : { namedIn: file };
      return [{ ref, object, ...suspect, ...by }];
    }),
  );
  const chosen = found.flat();
  const others = suspects.filter(({ ref }) => !named.includes(`${ref.namespace}/${ref.name}`));
  return alsoPause.nothingElse ? chosen : [...chosen, ...others];
}

async function readNamed(api: ClusterApi, text: string, named: string[]): Promise<Workload> {
  const { namespace, name } = splitName(text, api.namespace);
  const object = await api.get<Workload>({ kind: 'Deployment', namespace, name });
  if (object !== undefined) return object;
  const missing = { namespace, name, flag: '--also-pause', named } as const;
  throw new DevloopError('target.not-found', `Deployment ${text} does not exist.`, {
    hint: await hintOfMissing(api, ['Deployment'], missing),
  });
}

function needed(name: string): DevloopError {
  return new DevloopError(
    'pause.unsupported',
    `Deployment ${name} answers webhooks or serves an API, or your account is not allowed to find out whether it does. Those would fail while it is paused.`,
    { hint: 'Take it over, too, with a second --deployment, or leave out --also-pause.' },
  );
}
