import type { Flag } from '../flags.ts';
import { commandOf } from './commands.ts';
import { type GoSources, lastName } from './sources.ts';

/** The call that defines the flags of Kubernetes' own programs, in k8s.io/component-base; their defaults leave leader election on. */
const KUBERNETES_FLAGS = 'BindLeaderElectionFlags';

/** The flags of Kubernetes' own library that the sources ask for. */
export function flagsOfKubernetes(all: GoSources): Flag[] {
  return all.sources.flatMap((source) =>
    source.file.calls
      .filter(({ callee }) => lastName(callee) === KUBERNETES_FLAGS)
      .map(({ values, end }) => ({
        ...({ flag: 'leader-elect', kind: 'boolean', value: true, by: 'call' } as const),
        directory: source.directory,
        command: commandOf(values[1], end, source, all),
      })),
  );
}
