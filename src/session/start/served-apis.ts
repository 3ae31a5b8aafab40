import type { PauseChoice } from '../../config/choices.ts';
import type { ServedApi } from '../../operator/served-apis.ts';
import type { Target } from '../../operator/target.ts';
import { withNames } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { describe } from '../../report/object-name.ts';

/** Warns of APIs that the operator serves to the cluster and that are unavailable while the session runs. */
export function reportServedApis(
  { services, manager, apis = [] }: Target,
  choice: PauseChoice,
  emit: Emit,
): void {
  if (manager === undefined) return;
  const { kind, namespace } = manager.ref;
  const isTaken = ({ service }: ServedApi): boolean =>
    services.some(
      ({ service: { metadata } }) => metadata.name === service && metadata.namespace === namespace,
    );
  const byService = Map.groupBy(apis.filter(isTaken), ({ service }) => service);
  for (const [service, taken] of byService) {
    const message = `Service ${namespace}/${service} also backs ${whichAre(taken)} unavailable while the Service is taken over: ${MEANS}`;
    emit({ type: 'warning', message, hint: IN_CLUSTER });
  }
  const paused = choice === 'auto' ? apis.filter((one) => !isTaken(one)) : [];
  if (paused.length === 0) return;
  const message = `${describe(manager.ref)} also backs ${whichAre(paused)} unavailable while the ${kind} is paused: ${MEANS}`;
  emit({
    type: 'warning',
    message,
    hint: `To keep serving that API in the cluster, if the manager elects a leader: devloop up --pause lease\n${IN_CLUSTER}`,
  });
}

const MEANS = 'requests to it fail, and namespaces are deleted only when the session has ended.';
const IN_CLUSTER = 'If the controller fails here because of that API, turn the API off in its configuration.';

/** `APIService v1.a, which is` */
function whichAre(apis: ServedApi[]): string {
  const names = apis.map(({ name }) => name);
  return `${withNames('APIService', names)}, which ${names.length === 1 ? 'is' : 'are'}`;
}
