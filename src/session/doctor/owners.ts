import { judgeOwner, type Owner, ownersOf, type Policy, readPolicy } from '../../operator/owners.ts';
import type { Target } from '../../operator/target.ts';
import { describe } from '../../report/object-name.ts';
import { takenObjects } from '../context/holders.ts';
import { type Check, type Finding, neededOperator } from './check.ts';

/** Who else writes the Services and the manager's Deployment, and would they overwrite devloop's changes? */
export const ownersCheck: Check = {
  name: 'owners',
  limitSeconds: 30,
  optional: true,
  async run({ context, operator }) {
    const { target } = await neededOperator(operator);
    const { api } = await context;
    const owned = groupByOwner(target);
    if (owned.length === 0) return noOwner(target);
    return await Promise.all(
      owned.map(async ({ owner, objects }) => ownerFinding(owner, objects, await readPolicy(api, owner))),
    );
  },
};

interface OwnedObjects {
  owner: Owner;
  objects: string[];
}

/** One entry per owner, with the objects that name it. */
export function groupByOwner(target: Target): OwnedObjects[] {
  const groups = new Map<string, OwnedObjects>();
  for (const { ref, object } of takenObjects(target)) {
    for (const owner of ownersOf(object)) {
      const key = `${owner.kind} ${owner.name}`;
      const group = groups.get(key) ?? { owner, objects: [] };
      group.objects.push(describe(ref));
      groups.set(key, group);
    }
  }
  return [...groups.values()];
}

function noOwner(target: Target): Finding {
  const fields = takenObjects(target).flatMap(({ object }) => object.metadata.managedFields ?? []);
  const managers = fields.map((one) => one.manager);
  return {
    verdict: 'ok',
    answer: 'none of Argo CD, Flux, Helm and OLM owns what `up` changes',
    proof: [
      'looked at labels, annotations and owner references',
      `fields written by ${[...new Set(managers)].join(', ') || 'nobody'}`,
    ],
  };
}

/** Whether an owner will overwrite devloop's changes, and what pauses it. `policy` is undefined if it could not be read. */
export function ownerFinding(owner: Owner, objects: string[], policy: Policy | undefined): Finding {
  const who = `${owner.kind}${owner.name ? ` ${nameOf(owner)}` : ''}`;
  const { fights, because, pause } = judgeOwner(owner, policy);
  const proof = [`${objects.join(', ')}: ${owner.sign}`, ...(policy ? [because] : [])];
  if (fights === 'no')
    return {
      verdict: 'ok',
      answer: `${who} owns the objects, but leaves them alone while \`up\` runs: ${because}`,
      proof,
    };
  const answer =
    fights === 'yes'
      ? `${who} owns the objects and will overwrite changes while \`up\` runs: ${because}`
      : `${who} owns the objects and may overwrite changes while \`up\` runs: ${because}`;
  return { verdict: 'warn', answer, proof, hint: pause };
}

function nameOf({ namespace, name, kind }: Owner): string {
  return namespace === '' || kind === 'Argo CD' ? name : `${namespace}/${name}`;
}
