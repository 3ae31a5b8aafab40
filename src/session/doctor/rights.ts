import type { ClusterApi } from '../../cluster/api.ts';
import { forbidden, missing, neededFor, type Permission } from '../../cluster/permissions.ts';
import { namespacesOf } from '../holders.ts';
import type { Opened } from '../open.ts';
import type { Check, Finding } from './check.ts';
import type { Patient } from './patient.ts';

/** What of these permissions the account lacks. */
export interface Rights {
  asked: Permission[];
  lacking: Permission[];
}

/** Everything that `up` needs; where no target was found, for the namespace that the user is in. */
export async function askRights({ api, wanted }: Opened, patient: Promise<Patient>): Promise<Rights> {
  const target = await patient.then(({ target }) => target).catch(() => undefined);
  const namespaces = target ? namespacesOf(target) : [wanted.namespace ?? api.namespace];
  const webhooks = target === undefined || target.services.length > 0;
  const deployment = target === undefined || target.deployment !== undefined;
  const asked = neededFor(namespaces, { webhooks, deployment, secrets: webhooks });
  return { asked, lacking: await missing(api, asked) };
}

export function rightsCheck(api: ClusterApi, rights: Promise<Rights>): Check {
  return {
    name: 'rights',
    limitSeconds: 60,
    async run() {
      const { asked, lacking } = await rights;
      if (lacking.length > 0) throw forbidden(api, lacking);
      const namespaces = [...new Set(asked.flatMap(({ namespace }) => namespace ?? []))];
      return rightsFinding(asked, await missing(api, leaseRights(namespaces)));
    },
  };
}

function leaseRights(namespaces: string[]): Permission[] {
  const why = 'tell others who holds the operator';
  return namespaces.flatMap((namespace) =>
    ['get', 'create', 'patch', 'delete'].map((verb) => ({ kind: 'Lease' as const, verb, namespace, why })),
  );
}

/** Pure. */
export function rightsFinding(asked: Permission[], withoutLeases: Permission[]): Finding {
  const proof = `${asked.length} SelfSubjectAccessReviews, all allowed`;
  if (withoutLeases.length === 0)
    return { verdict: 'good', answer: 'the account may do all that `up` needs', proof };
  const verbs = withoutLeases.map(({ verb }) => verb);
  return {
    verdict: 'doubtful',
    answer:
      'the account may do all that `up` needs, but not hold Leases: nobody is warned who takes the same operator over',
    proof: `${proof}; not allowed: ${[...new Set(verbs)].join(', ')} leases.coordination.k8s.io`,
    cure: `Ask for the verbs ${[...new Set(verbs)].join(', ')} on leases in namespace ${withoutLeases[0]!.namespace}.`,
  };
}
