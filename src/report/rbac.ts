/** The verbs that a call can show, in the order in which rules list them. Others, such as `bind`, are only asked for within a call. */
export const CALLED_VERBS = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'impersonate'],
];

/** Each verb once, in the order in which rules list them. */
export function inOrder(verbs: string[]): string[] {
  const place = (verb: string): number => CALLED_VERBS.indexOf(verb) + 1 || CALLED_VERBS.length + 1;
  return [...new Set(verbs)].sort((a, b) => place(a) - place(b));
}

/** What RBAC is asked: may somebody do this? */
export interface Access {
  verb: string;
  /** `''` for the core group; absent for a path that names no resource. */
  group?: string;
  /** The plural, with a subresource as a rule writes it: `deployments/status`. */
  resource?: string;
  path?: string;
  /** Absent for what has no namespace, and for lists of all namespaces. */
  namespace?: string;
  name?: string;
}

/** What a session's calls needed of one verb, resource and namespace. */
export interface Need extends Omit<Access, 'name'> {
  /** The objects, `''` for calls that name none, such as a list. */
  names: string[];
  /** There were further names, which are not kept. */
  moreNames?: true;
  /** 0 if only the other half of a cache's list and watch was called. */
  calls: number;
  /** How many of the calls were refused with 403. */
  refused: number;
  /** Whether what was refused can also have been the creation of an object. */
  mayCreate?: true;
}

/** A role, such as `ClusterRole manager-role`. */
export interface RoleName {
  kind: string;
  /** Absent for a ClusterRole. */
  namespace?: string;
  name: string;
  /** The file of the checkout that declares it; absent for a role of the cluster. */
  file?: string;
}

/** What `devloop rbac` compared. */
export interface ComparedRoles {
  session: string;
  /** When the session began, as an ISO time. */
  since: string;
  /** All calls of the controller. */
  calls: number;
  /** The ServiceAccount of the manager; absent if it is not known. */
  account?: { namespace: string; name: string };
  /** The roles of the account in the cluster; absent if they were not read. */
  cluster?: RoleName[];
  /** The roles that the checkout binds to a ServiceAccount. */
  checkout: RoleName[];
  /** How many findings about missing rules follow. */
  missing: number;
}

/** What a rule is about: a resource, or a path. */
export interface RbacTarget {
  /** `''` for the core group; absent for a path that names no resource. */
  group?: string;
  /** With a subresource: `deployments/status`. */
  resource?: string;
  path?: string;
}

/** What the controller's calls need and its roles do not allow. */
export interface MissingRule {
  /** `''` for the core group; absent for a path that names no resource. */
  group?: string;
  /** With a subresource: `deployments/status`. */
  resource?: string;
  path?: string;
  verbs: string[];
  /** `granted`: the cluster allows it, but the checkout does not, so the next deployment takes it away. `unknown`: the cluster was not read. */
  cluster: 'missing' | 'granted' | 'unknown';
  /** Where it was needed; absent for the whole cluster, or what has no namespace. */
  namespaces?: string[];
  /** For which objects; absent if it was needed for all of them. */
  names?: string[];
  calls: number;
  refused: number;
}

/** Permissions of roles that no call of the session used. */
export interface UnseenRule {
  verbs: string[];
  targets: RbacTarget[];
  /** The objects, if the roles allow only these. */
  names?: string[];
  roles: RoleName[];
}

/** A rule that allows more than the session's calls needed. */
export interface BroadRule {
  /** Why: `*` instead of what was used, or all objects where only these were used. */
  what: 'wildcard' | 'names';
  /** The rule, with the verbs, groups and resources as they are. */
  rule: BroadPart;
  /** What the calls used of it, the first only if there are many. */
  seen: SeenAccess[];
  moreSeen?: number;
  /** For `names`: the objects. */
  names?: string[];
  roles: RoleName[];
}

export interface BroadPart {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

/** What calls used of a rule. */
export interface SeenAccess {
  group: string;
  resource: string;
  verbs: string[];
}

/** How a missing rule is added. */
export interface RbacCure {
  /** The line for controller-gen. Absent if the checkout's roles are not generated from such lines. */
  marker?: string;
  /** The command of the Makefile that writes the role from that line, such as `make manifests`. */
  generate?: string;
  /** The rule as YAML. */
  yaml: string;
  /** The file of the checkout that has the rule already. */
  file?: string;
  /** The command that adds the rule to the role in the cluster, if that is known. */
  command?: string;
}
