import type { ClusterApi } from '../../cluster/api/client.ts';
import { leasePermissions, missing, type Permission } from '../../cluster/api/permissions.ts';
import { nameOf, routeSettings } from '../route/routing.ts';
import { askRights, permittedWays, type Rights, rightsFor } from '../route/ways.ts';
import type { Check, Finding } from './check.ts';
import type { DiscoveredOperator, DoctorRun } from './operator.ts';

/** Everything that `up` needs; where no target was found, for the namespace that the user is in. */
export async function rightsOf(
  { opened, options }: DoctorRun,
  operator: Promise<DiscoveredOperator>,
): Promise<Rights> {
  const { api, wanted } = opened;
  const target = await operator.then(({ target }) => target).catch(() => undefined);
  const { choice } = routeSettings(options, opened);
  if (target !== undefined) return await rightsFor(api, target, choice);
  return await askRights(
    api,
    [wanted.namespace ?? api.namespace],
    { webhooks: true, deployment: true },
    choice,
  );
}

export function rightsCheck(api: ClusterApi, rights: Promise<Rights>): Check {
  return {
    name: 'rights',
    limitSeconds: 60,
    async run() {
      const answered = await rights;
      permittedWays(api, answered);
      const { asked, ways } = answered;
      const namespaces = [...new Set(asked.flatMap(({ namespace }) => namespace ?? []))];
      const closed = ways.filter((one) => one.lacking.length > 0).map((one) => nameOf(one.way));
      return rightsFinding(asked, closed, await missing(api, leasePermissions(namespaces)));
    },
  };
}

/** Pure. `closed`: ways that are not needed, since another one may be taken. */
export function rightsFinding(asked: Permission[], closed: string[], withoutLeases: Permission[]): Finding {
  const all = closed.length === 0 ? 'all allowed' : `all allowed but for the ${closed.join(' and ')} route`;
  const proof = `${asked.length} SelfSubjectAccessReviews, ${all}`;
  if (withoutLeases.length === 0)
    return { verdict: 'ok', answer: 'the account may do all that `up` needs', proof };
  const verbs = [...new Set(withoutLeases.map(({ verb }) => verb))].join(', ');
  return {
    verdict: 'warn',
    answer:
      'the account may do all that `up` needs, but not hold Leases: nobody is warned who takes the same operator over',
    proof: `${proof}; not allowed: ${verbs} leases.coordination.k8s.io`,
    hint: `Ask for the verbs ${verbs} on leases in namespace ${withoutLeases[0]!.namespace}.`,
  };
}
