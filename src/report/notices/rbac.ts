import { firstOf } from '../../phrases.ts';
import { note, warning } from './notice.ts';

/** What the controller's calls need, compared with its roles. */
export const RBAC = {
  /** What the calls need cannot be written, so `devloop rbac` lacks what follows. */
  'rbac.not-recorded': warning<{ cause: string }>(
    ({ cause }) => `devloop could not note which RBAC rules the controller's calls need: ${cause}`,
  ),
  /** `devloop rbac` has nothing to compare: no call has passed the API proxy yet. */
  'rbac.none': note<{ session: string }>(
    ({ session }) =>
      `Session ${session} has recorded no calls. With --api direct, the controller's calls do not pass devloop.`,
  ),
  /** `devloop rbac` compares with the checkout alone. */
  'rbac.cluster-not-read': warning<{ cause: string }>(
    ({ cause }) => `The roles in the cluster are not compared: ${cause}`,
  ),
  /** The session made calls of more kinds, or in more namespaces, than devloop keeps, so its findings are incomplete. */
  'rbac.cut': warning<{ what: 'accesses' | 'namespaces' }>(({ what }) =>
    what === 'namespaces'
      ? 'The controller works in more namespaces than devloop notes: what it needs in the others is not compared.'
      : 'The controller made more kinds of calls than devloop notes: what the others need is not compared, and a rule that was not seen can be theirs.',
  ),
  /** The controller writes roles or bindings. What `escalate` and `bind` allow is judged within such a call, so `devloop rbac` does not know it. */
  'rbac.writes-roles': note<{ resources: string[] }>(
    ({ resources }) =>
      `The controller writes ${resources.join(', ')}. kube-apiserver lets it grant only what it may do itself, unless its role has the verbs escalate and bind; that cannot be seen in its calls.`,
  ),
  /** The checkout has no role to compare with. `templates`: the files of charts that declare some. */
  'rbac.no-checkout-roles': note<{ templates: string[] }>(({ templates }) =>
    templates.length === 0
      ? 'The checkout binds no role to a ServiceAccount, so only the cluster is compared.'
      : `The checkout binds no role to a ServiceAccount, unless its templates do, which devloop does not read (${firstOf(templates)}), so only the cluster is compared.`,
  ),
  /** The checkout also has roles or bindings in templates of charts, which are not compared. `templates`: their files. */
  'rbac.templates-not-read': note<{ templates: string[] }>(
    ({ templates }) =>
      `devloop does not read the roles in templates of charts (${firstOf(templates)}): a rule that is said to be missing can be there.`,
  ),
};
