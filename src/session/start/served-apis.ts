import type { PauseChoice } from '../../config/choices.ts';
import type { ServedApi } from '../../operator/served-apis.ts';
import type { Target } from '../../operator/target.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** Warns of APIs that the operator serves to the cluster and that are unavailable while the session runs. */
export function reportServedApis(
  { services, manager, apis = [] }: Target,
  choice: PauseChoice,
  emit: Emit,
): void {
  if (manager === undefined) return;
  const { namespace } = manager.ref;
  const isTaken = ({ service }: ServedApi): boolean =>
    services.some(
      ({ service: { metadata } }) => metadata.name === service && metadata.namespace === namespace,
    );
  const byService = Map.groupBy(apis.filter(isTaken), ({ service }) => service);
  for (const [service, taken] of byService) {
    const ref = { kind: 'Service', namespace: namespace!, name: service };
    emit(notice('apis.of-service', { service: ref, apis: namesOf(taken) }));
  }
  const paused = choice === 'auto' ? apis.filter((one) => !isTaken(one)) : [];
  if (paused.length === 0) return;
  emit(notice('apis.of-manager', { manager: manager.ref, apis: namesOf(paused) }));
}

function namesOf(apis: ServedApi[]): string[] {
  return apis.map(({ name }) => name);
}
