/** A rule of a Role, as in the RBAC API. */
export interface PolicyRule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
}

/**
 * Each permission of the rules on its own: `create pods/exec`, `get secrets.example.com named "x"`, `get /metrics`. Roles with the same
 * permissions can have different rules.
 */
export function permissionsOf(rules: PolicyRule[] | null | undefined): Set<string> {
  return new Set(
    (rules ?? []).flatMap((rule) =>
      rule.verbs.flatMap((verb) => targetsOf(rule).map((what) => `${verb} ${what}`)),
    ),
  );
}

function targetsOf({
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): string[] {
  const named =
    resourceNames.length === 0 ? [''] : resourceNames.map((name) => ` named ${JSON.stringify(name)}`);
  const full = apiGroups.flatMap((group) =>
    resources.map((resource) => (group === '' ? resource : `${resource}.${group}`)),
  );
  return [...nonResourceURLs, ...full.flatMap((resource) => named.map((name) => `${resource}${name}`))];
}
