import { isDeepStrictEqual } from 'node:util';
import { Checkout } from '../../checkout/files.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import type { Workload } from '../../cluster/api/workloads.ts';
import { writerOf } from '../../cluster/marks/observe.ts';
import type { Work } from '../../cluster/work.ts';
import type { ControllerPlan, Supervisor } from '../../controller/supervisor.ts';
import { messageOf } from '../../errors.ts';
import type { ApiAccess } from '../../local/api-access.ts';
import type { KeyPairs } from '../../local/key-pairs.ts';
import { writeNeededFiles } from '../../local/mounts.ts';
import { planController } from '../../local/plan.ts';
import type { OtherPort } from '../../local/ports.ts';
import type { TargetManager } from '../../operator/target.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { withoutDiscoveries } from '../context/without-discoveries.ts';
import { NOBODY } from '../guard/react.ts';
import { containerOf, type TemplateChanges, templateChanges } from '../guard/template.ts';
import { controllerInputs } from './controller.ts';
import type { Session } from './session.ts';

/** What depends on the manager's arguments and variables on this machine. */
export interface Dependent {
  pairs: KeyPairs;
  proxy: ApiAccess | undefined;
  controller: ControllerPlan | undefined;
  supervisor: Supervisor | undefined;
}

const TEMPLATE = ['spec', 'template'];

/**
 * Follows new versions of the manager's workload: reports what changed, and gives the controller the new arguments and variables at its
 * next start.
 */
export function followManager(
  session: Session,
  work: Work,
  { pairs, proxy, controller, supervisor }: Dependent,
): (object: KubeObject) => void {
  const { manager } = session.target;
  let current = manager?.object;
  let plan = controller;
  let following = Promise.resolve();
  const replan = async (now: TargetManager): Promise<boolean> => {
    if (plan === undefined || supervisor === undefined) return false;
    const target = { ...session.target, manager: now };
    const inputs = controllerInputs({ ...session, target }, pairs, proxy);
    // What was saved since the session began counts.
    const checkout = new Checkout(session.context.root);
    // Discoveries are the same as at the start, except for what `guard.followed` reports.
    const io = { emit: withoutDiscoveries(work.emit), signal: work.signal };
    const elsewhere = async (port: number) => movedTo(session.moved.get(port));
    const next = await planController({ ...inputs, checkout, running: plan.run, elsewhere }, io);
    // The session removes its files when it ends, so nothing must be written after that.
    if (work.signal.aborted) return false;
    const isSame = isDeepStrictEqual([plan.run, plan.env], [next.plan.run, next.plan.env]);
    await writeNeededFiles(next.needed);
    if (isSame) return false;
    plan = next.plan;
    supervisor.runWith(plan);
    return true;
  };
  const follow = async (object: Workload, changes: TemplateChanges): Promise<void> => {
    const container = containerOf(object, manager!.container.name)!;
    const restart = changes.affectsController && (await replan({ ...manager!, object, container }));
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

function movedTo(port: number | undefined): OtherPort | undefined {
  return port === undefined ? undefined : { port, because: 'it has listened there since the session began' };
}

function warn({ emit, signal }: Work, error: unknown): void {
  if (signal.aborted) return;
  emit(notice('manager.not-followed', { cause: messageOf(error) }));
}
