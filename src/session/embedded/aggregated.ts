import { selects } from '../../cluster/api/labels.ts';
import type { KubeObject, LabelSelector } from '../../cluster/api/objects.ts';

interface Rules {
  rules?: unknown[];
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] };
}

/** Gives each aggregated ClusterRole the rules of those that it selects, as a controller of the cluster would. */
export function aggregated<Manifest extends KubeObject>(objects: readonly Manifest[]): Manifest[] {
  const roles: (Manifest & Rules)[] = objects.filter(({ kind }) => kind === 'ClusterRole');
  /** `seen`: roles can select each other. */
  const rulesOf = ({ aggregationRule, rules }: Rules, seen: Rules[]): unknown[] => {
    if (!aggregationRule) return rules ?? [];
    const selectors = aggregationRule.clusterRoleSelectors ?? [];
    const selected = roles.filter(
      (one) =>
        !seen.includes(one) && selectors.some((selector) => selects(selector, one.metadata.labels ?? {})),
    );
    return selected.flatMap((one) => rulesOf(one, [...seen, ...selected]));
  };
  return objects.map((object) => {
    const role = roles.find((one) => one === object);
    return role?.aggregationRule ? { ...object, rules: rulesOf(role, [role]) } : object;
  });
}
