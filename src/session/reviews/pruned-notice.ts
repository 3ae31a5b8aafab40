import { crdCommand } from '../../checkout/crd-command.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** Warns once for each kind whose CRD in the cluster lacks a field that a webhook sets, with the command that updates the CRD. */
export function createPrunedNotice(
  checkout: { root: string; cwd: string },
  emit: Emit,
): { observe(event: DevloopEvent): void } {
  const known = new Set<string>();
  return {
    observe(event) {
      if (event.type !== 'review' || event.pruned === undefined || event.resource === undefined) return;
      const { group, kind } = event.resource;
      const fields = event.pruned.filter(({ why }) => why === 'not-in-crd').map(({ field }) => field);
      if (fields.length === 0 || known.has(`${kind}.${group}`)) return;
      known.add(`${kind}.${group}`);
      void crdCommand(checkout).then((command) =>
        emit(notice('reviews.pruned', { group, kind, fields, command })),
      );
    },
  };
}
