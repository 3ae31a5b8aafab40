import type { RbacCure } from '../rbac.ts';
import { warning } from './notice.ts';

interface Account {
  namespace: string;
  name: string;
}

interface Forbidden extends Partial<RbacCure> {
  verbs: string[];
  group: string;
  resource: string;
  namespace: string | undefined;
  name: string | undefined;
  account: string | undefined;
  times: number;
}

/** How to add a rule that the controller's role lacks. `isGranted`: the cluster has it, and only the checkout does not. */
export function cureText(
  { yaml = '', marker, generate, file, command }: Partial<RbacCure>,
  isGranted = false,
): string {
  const atOnce = command === undefined ? '' : `\nIn the cluster, at once: ${command}`;
  if (file !== undefined)
    return `The rule is in ${file}, but not applied: apply it as this project does.${atOnce}`;
  const anew = generate === undefined ? 'generate the role anew' : `run ${generate}`;
  const add =
    marker === undefined
      ? `Add this rule to the controller's role:\n${yaml}`
      : `Add this to the controller, if it is not there yet, then ${anew}${isGranted ? '' : ' and apply the role'}:\n${marker}`;
  return `${add}${atOnce}`;
}

const nameOf = ({ namespace, name }: Account): string => `ServiceAccount ${namespace}/${name}`;

/** As whom the controller works. */
export const IDENTITY = {
  /**
   * The controller works as the user, because it cannot work as its ServiceAccount. `causes`: why, for each way that was tried; `isMissing`:
   * whether there is no such account.
   */
  'identity.as-user': warning<{ account: Account; causes: Record<string, string>; isMissing: boolean }>(
    ({ account, causes }) =>
      [
        `The controller works with your account, and not as ${nameOf(account)}: rules that its Role lacks show only in the cluster, and webhooks see your name.`,
        ...Object.entries(causes).map(([how, cause]) => `${how}: ${cause}`),
      ].join('\n'),
    ({ isMissing }) =>
      `${isMissing ? 'Create it with its role, as the deployment of the operator does' : 'Ask for the verb create on serviceaccounts/token, or impersonate on serviceaccounts, in that namespace'}. Without this warning: devloop up --identity me\nTo see which rules the Role lacks: devloop rbac`,
  ),
  /**
   * RBAC does not allow the controller something. It is said again at the 10th, 100th… time. `account`: absent if the controller works as the user.
   * `marker`: the line for controller-gen; `generate`: the command that then writes the role; `file`: where the checkout has the rule already; `command`: adds the rule to the role in the cluster.
   */
  'api.forbidden': warning<Forbidden>(
    ({ verbs, resource, group, namespace, name, account, times }) => {
      const what = `${verbs.join(', ')} ${resource}${group && `.${group}`}${name === undefined ? '' : ` ${name}`}`;
      const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
      const count = times === 1 ? '' : ` (refused ${times} times)`;
      return `The controller is not allowed to ${what}${where}: ${account ?? 'your account'} may not${count}.`;
    },
    (values) => (values.account === undefined || values.times > 1 ? undefined : cureText(values)),
  ),
  /** The API server issues no more tokens for the ServiceAccount, often because that was deleted. `status`: that of its answer. */
  'identity.no-token': warning<{ account: Account; status: number; cause: string }>(
    ({ account, cause }) =>
      `There is no new token for ${nameOf(account)}, so the API server refuses what the controller asks, at the latest when the last token expires: ${cause}`,
    ({ status }) =>
      status === 404
        ? 'When the ServiceAccount is back, devloop uses it again.'
        : 'When your account may create the token again, devloop does so.',
  ),
};
