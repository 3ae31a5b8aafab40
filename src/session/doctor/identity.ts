import type { ClusterApi } from '../../cluster/api/client.ts';
import { deniedVerbs, type ServiceAccountName, usernameOf } from '../../cluster/api/service-account.ts';
import { IDENTITY_HINT, type Way, wantedAccount } from '../start/identity.ts';
import { type Check, type Finding, neededOperator } from './check.ts';

/** As whom would the controller work? `up` itself tries it out. */
export const identityCheck: Check = {
  name: 'identity',
  limitSeconds: 30,
  optional: true,
  async run({ context, operator }, signal) {
    const { target } = await neededOperator(operator);
    const opened = await context;
    const wanted = wantedAccount({ context: opened, target, options: { controller: true } });
    if (wanted === undefined) return { verdict: 'ok', answer: 'the controller would work with your account' };
    return identityFinding(wanted, await allowedWay(opened.api, wanted.account, signal));
  },
};

async function allowedWay(
  api: ClusterApi,
  { namespace, name }: ServiceAccountName,
  signal: AbortSignal,
): Promise<Way | undefined> {
  const account = { group: '', resource: 'serviceaccounts', namespace, name };
  const [token, impersonation] = await Promise.all([
    deniedVerbs(api, { ...account, subresource: 'token' }, ['create'], signal),
    deniedVerbs(api, account, ['impersonate'], signal),
  ]);
  if (token.length === 0) return 'token';
  return impersonation.length === 0 ? 'impersonation' : undefined;
}

/** `isDemanded`: the user has asked for this account, so that `up` refuses to go on without it. */
export function identityFinding(
  { account, isDemanded }: { account: ServiceAccountName; isDemanded: boolean },
  way: Way | undefined,
): Finding {
  const username = usernameOf(account);
  if (way !== undefined)
    return { verdict: 'ok', answer: `the controller would work as ${username} (${way})` };
  const answer = `your account is not allowed to create tokens for ${username}, nor to impersonate it`;
  if (isDemanded) return { verdict: 'fail', code: 'identity.refused', answer, hint: IDENTITY_HINT };
  return {
    verdict: 'warn',
    answer: `${answer}: the controller would work with your account`,
    hint: IDENTITY_HINT,
  };
}
