import type { Permission } from '../../cluster/api/permissions.ts';
import type { Target } from '../../operator/target.ts';
import { namespaceOf } from '../context/namespaces.ts';
import { routeSettings } from '../route/routing.ts';
import {
  type AllowedParts,
  askPermissions,
  lackingForLeases,
  permittedRoutes,
} from '../start/permissions.ts';
import { planAnyTakeOver, planTakeOver, type TakeOverPlan } from '../start/plan.ts';
import type { Check, DoctorRun, Finding } from './check.ts';

type Base = Pick<DoctorRun, 'context' | 'settings' | 'operator' | 'pause'>;

/** The permissions that `up` needs, and which of them the account has. */
export async function allowedTo(run: Base): Promise<AllowedParts> {
  return await askPermissions((await run.context).api, await planOf(run));
}

/** The plan for the target; if none was found, the plan for any operator in the chosen or current namespace. */
async function planOf(run: Base): Promise<TakeOverPlan> {
  const opened = await run.context;
  const settings = routeSettings(run.settings);
  const target = await targetOf(run);
  if (target === undefined)
    return planAnyTakeOver(namespaceOf(opened.wanted) ?? opened.api.namespace, settings);
  // Another check reports why the manager cannot be paused.
  return planTakeOver(target, settings, await run.pause.catch(() => []));
}

async function targetOf(run: Base): Promise<Target | undefined> {
  return (await run.operator.catch(() => undefined))?.target;
}

/** Is the account allowed to do everything that `up` does? */
export const permissionsCheck: Check = {
  name: 'permissions',
  limitSeconds: 60,
  async run(run) {
    const allowed = await run.permissions;
    const { api, wanted } = await run.context;
    const target = await targetOf(run);
    permittedRoutes(api, allowed, target === undefined && namespaceOf(wanted) === undefined);
    const closed = allowed.routes.filter((one) => one.lacking.length > 0).map(({ plan }) => plan.name);
    return permissionsFinding(allowed.asked, closed, await lackingForLeases(api, await planOf(run)));
  },
};

/** `closed`: routes that are not permitted, while another one is. */
export function permissionsFinding(
  asked: Permission[],
  closed: string[],
  withoutLeases: Permission[],
): Finding {
  const all =
    closed.length === 0
      ? 'all allowed'
      : `all allowed, except for the ${closed.join(' and ')} ${closed.length === 1 ? 'route' : 'routes'}`;
  const proof = [`${asked.length} SelfSubjectAccessReviews, ${all}`];
  if (withoutLeases.length === 0)
    return { verdict: 'ok', answer: 'the account is allowed to do everything that `up` needs', proof };
  const verbs = [...new Set(withoutLeases.map(({ verb }) => verb))].join(', ');
  return {
    verdict: 'warn',
    answer:
      'the account is not allowed to create Leases, so somebody else who takes over this operator gets no warning; everything else is allowed',
    proof: [...proof, `not allowed: ${verbs} leases.coordination.k8s.io`],
    hint: `Ask for the verbs ${verbs} on leases in namespace ${withoutLeases[0]!.namespace}.`,
  };
}
