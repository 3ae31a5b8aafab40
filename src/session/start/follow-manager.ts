import type { KubeObject } from '../../cluster/api/objects.ts';
import type { Workload } from '../../cluster/api/workloads.ts';
import { writerOf } from '../../cluster/marks/observe.ts';
import type { Work } from '../../cluster/work.ts';
import { messageOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { NOBODY } from '../guard/react.ts';
import { containerOf, type TemplateChanges, templateChanges } from '../guard/template.ts';
import type { Replanning } from './replan.ts';

const TEMPLATE = ['spec', 'template'];

/**
 * Follows new versions of the manager's workload: reports what changed, and gives the controller the new arguments and variables at its
 * next start.
 */
export function followManager(work: Work, replanning: Replanning): (object: KubeObject) => void {
  const { manager } = replanning;
  let current = manager?.object;
  let following = Promise.resolve();
  const follow = async (object: Workload, changes: TemplateChanges): Promise<void> => {
    const container = containerOf(object, manager!.container.name)!;
    const now = { ...manager!, object, container };
    const replanned = changes.affectsController ? await replanning.again({ manager: now }) : undefined;
    const restart = replanned?.atStart ?? false;
    const by = writerOf(object, TEMPLATE) ?? NOBODY;
    work.emit({ type: 'guard.followed', object: manager!.ref, changes: changes.lines, restart, by });
  };
  return (object) => {
    const now = object as Workload;
    const changes = current && templateChanges(current, now, manager!.container.name);
    if (changes === undefined) return;
    current = now;
    following = following.then(() => follow(now, changes)).catch((error) => warn(work, error));
  };
}

function warn({ emit, signal }: Work, error: unknown): void {
  if (signal.aborted) return;
  emit(notice('manager.not-followed', { cause: messageOf(error) }));
}
