import { missing, type Permission } from '../../cluster/api/permissions.ts';
import { leasePermissions } from '../../cluster/takeover/lease.ts';
import { nameOf, routeSettings } from '../route/routing.ts';
import { askRights, permittedWays, type Rights, rightsFor } from '../route/ways.ts';
import type { Check, Finding } from './check.ts';
import type { DoctorRun } from './run.ts';

/** Everything that `up` needs; where no target was found, for the current namespace. */
export async function rightsOf({
  context,
  options,
  operator,
}: Pick<DoctorRun, 'context' | 'options' | 'operator'>): Promise<Rights> {
  const opened = await context;
  const { api, wanted } = opened;
  const target = (await operator.catch(() => undefined))?.target;
  const { choice } = routeSettings(options, opened);
  if (target !== undefined) return await rightsFor(api, target, choice);
  return await askRights(
    api,
    [wanted.namespace ?? api.namespace],
    { webhooks: true, deployment: true },
    choice,
  );
}

/** Is the account allowed to do everything that `up` does? */
export const permissionsCheck: Check = {
  name: 'permissions',
  limitSeconds: 60,
  async run({ context, permissions }) {
    const answered = await permissions;
    const { api } = await context;
    permittedWays(api, answered);
    const { asked, ways } = answered;
    const namespaces = [...new Set(asked.flatMap(({ namespace }) => namespace ?? []))];
    const closed = ways.filter((one) => one.lacking.length > 0).map((one) => nameOf(one.way));
    return permissionsFinding(asked, closed, await missing(api, namespaces.flatMap(leasePermissions)));
  },
};

/** `closed`: routes that are not permitted; another one is. */
export function permissionsFinding(
  asked: Permission[],
  closed: string[],
  withoutLeases: Permission[],
): Finding {
  const all =
    closed.length === 0 ? 'all allowed' : `all allowed, except for the ${closed.join(' and ')} route`;
  const proof = [`${asked.length} SelfSubjectAccessReviews, ${all}`];
  if (withoutLeases.length === 0)
    return { verdict: 'ok', answer: 'the account is allowed to do everything that `up` needs', proof };
  const verbs = [...new Set(withoutLeases.map(({ verb }) => verb))].join(', ');
  return {
    verdict: 'warn',
    answer:
      'the account is not allowed to create Leases, so somebody else who\ntakes over this operator gets no warning; everything else is allowed',
    proof: [...proof, `not allowed: ${verbs} leases.coordination.k8s.io`],
    hint: `Ask for the verbs ${verbs} on leases in namespace ${withoutLeases[0]!.namespace}.`,
  };
}
