import type { ClusterApi } from '../../cluster/api/client.ts';
import { ApiError, undefinedIfForbidden } from '../../cluster/api/errors.ts';
import type { Forwarder } from '../../cluster/api/pass-on.ts';
import type { Permission } from '../../cluster/api/permissions.ts';
import {
  proveAccount,
  requestToken,
  type ServiceAccountName,
  usernameOf,
} from '../../cluster/api/service-account.ts';
import { createTokens } from '../../cluster/api/tokens.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import { splitName } from '../../operator/target.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { buildsProgram, isProxied } from '../context/proxied.ts';
import type { Session } from './session.ts';

/** As whom the controller reaches the API server. */
export interface Identity extends Disposable {
  /** Sends the controller's calls: as the user, until `settle` has found another way. */
  upstream: Forwarder;
  /** Finds out as whom the controller can work, and changes nothing in the cluster. Throws `identity.refused`. */
  settle(): Promise<void>;
  /** From now on, the controller works as the user. Throws 'session.not-ready' if it does so already. */
  asUser(): void;
  /** The account's name at the API server; undefined while it is the user's. */
  username(): string | undefined;
}

export type Way = 'token' | 'impersonation';

/** The account as which the controller is to work. */
interface Wanted {
  account: ServiceAccountName;
  /** Whether the user has asked for it. */
  isDemanded: boolean;
}

const PROOF_MS = 10_000;

/** `up` does without these. */
export function identityPermissions(namespace: string): Permission[] {
  const why = 'let the controller work as its ServiceAccount';
  return [
    {
      ...{ kind: 'ServiceAccount', subresource: 'token', verb: 'create', namespace, why },
      without: 'the controller works as its ServiceAccount only if you may impersonate that',
    },
    {
      ...{ kind: 'ServiceAccount', verb: 'impersonate', namespace, why },
      without: 'and without serviceaccounts/token, the controller works as you',
    },
  ];
}

export function createIdentity(session: Session, { api, emit, signal }: Omit<Work, 'sessionId'>): Identity {
  // What the controller asked as another account may still be answered after the change to the user.
  const opened = new DisposableStack();
  let other: Forwarder | undefined;
  let username: string | undefined;
  const beUser = (): void => {
    [other, username] = [undefined, undefined];
    emit({ type: 'controller.identity', how: 'user' });
  };
  return {
    upstream: {
      forward: (request) => (other ?? api).forward(request),
      forwardUpgrade: (request) => (other ?? api).forwardUpgrade(request),
    },
    async settle() {
      await session.options.embedded?.ready;
      const wanted = wantedAccount(session);
      if (wanted === undefined) return isProxied(session.context) ? beUser() : undefined;
      const causes: Record<string, string> = {};
      let isMissing = false;
      for (const how of ['token', 'impersonation'] as const) {
        const found = await openWay(how, wanted.account, { api, emit, signal }).catch((error) => {
          if (signal.aborted || !(error instanceof DevloopError)) throw error;
          causes[how] = messageOf(error);
          isMissing ||= error.code === 'target.not-found';
        });
        if (found === undefined) continue;
        other = opened.use(found);
        username = usernameOf(wanted.account);
        return emit({ type: 'controller.identity', how, account: username });
      }
      const values = { account: wanted.account, causes, isMissing };
      if (wanted.isDemanded) throw refused(values);
      emit(notice('identity.as-user', values));
      beUser();
    },
    asUser() {
      if (other === undefined)
        throw new DevloopError('session.not-ready', 'The controller already works with your account.');
      beUser();
    },
    username: () => username,
    [Symbol.dispose]: () => opened.dispose(),
  };
}

/** What has to happen so that the controller works as its ServiceAccount, or so that nobody expects it. */
export const IDENTITY_HINT =
  'Your account needs the verb create on serviceaccounts/token, or impersonate on serviceaccounts, in that namespace. To let the controller work as you: devloop up --identity me';

/**
 * Undefined if the controller is to work as the user. Without a manager in the cluster, no account is known. Throws `identity.refused` or
 * `usage.invalid` if one was asked for all the same.
 */
export function wantedAccount(
  session: Pick<Session, 'target'> & Parameters<typeof buildsProgram>[0],
): Wanted | undefined {
  const { context } = session;
  const { value } = context.settings.identity;
  if (value === 'me' || (value === undefined && !buildsProgram(session))) return undefined;
  const isDemanded = value !== undefined;
  if (!isProxied(context)) {
    if (isDemanded) throw needsProxy(value);
    return undefined;
  }
  const account = accountOf(session);
  if (account === undefined && isDemanded) throw noManager();
  return account && { account, isDemanded };
}

/** The account that the operator has in the cluster, or that was named for it, also if its controller works as the user. */
export function accountOf({
  context,
  target,
}: Pick<Session, 'target'> & Pick<Parameters<typeof buildsProgram>[0], 'context'>):
  | ServiceAccountName
  | undefined {
  const { value } = context.settings.identity;
  if (value !== undefined && value !== 'serviceaccount' && value !== 'me')
    return splitName(value, target.namespace);
  if (target.manager === undefined) return undefined;
  const { ref, object } = target.manager;
  const { serviceAccountName: name = 'default' } = object.spec.template.spec;
  return { namespace: ref.namespace ?? target.namespace, name };
}

/** Opens one way to work as the account, and proves it. Rejects if it does not work. */
async function openWay(
  how: Way,
  account: ServiceAccountName,
  { api, emit, signal }: Omit<Work, 'sessionId'>,
): Promise<Forwarder & Disposable> {
  using stack = new DisposableStack();
  const tokens = how === 'token' ? tokensOf(account, { api, emit }) : undefined;
  const forwarder = stack.use(api.forwarderAs(tokens ? { tokens } : { impersonated: usernameOf(account) }));
  // The API server's own words about it are better than those of a call that has no token.
  await (tokens ? tokens.current() : requireExisting(api, account));
  const limit = AbortSignal.timeout(PROOF_MS);
  await proveAccount(forwarder, usernameOf(account), AbortSignal.any([signal, limit])).catch((error) => {
    throw limit.aborted ? new DevloopError('cluster.unreachable', 'no answer within 10 s') : error;
  });
  stack.move();
  return forwarder;
}

/** The API server also lets somebody impersonate an account that does not exist. */
async function requireExisting(api: ClusterApi, account: ServiceAccountName): Promise<void> {
  const read = api.get({ kind: 'ServiceAccount', ...account });
  const found = await read.then((one) => one !== undefined, undefinedIfForbidden);
  if (found === false) throw new DevloopError('target.not-found', 'there is no such ServiceAccount');
}

/** One line says that there are no more tokens, until there are again. */
function tokensOf(account: ServiceAccountName, { api, emit }: Pick<Work, 'api' | 'emit'>) {
  let isTold = false;
  const issue = async () => {
    const issued = await requestToken(api, account);
    isTold = false;
    return issued;
  };
  return createTokens(issue, (error) => {
    // If the API server does not answer, other lines say so.
    if (isTold || !(error instanceof ApiError)) return;
    isTold = true;
    emit(notice('identity.no-token', { account, status: error.status, cause: error.message }));
  });
}

function refused({
  account,
  causes,
}: {
  account: ServiceAccountName;
  causes: Record<string, string>;
}): DevloopError {
  const why = Object.entries(causes).map(([how, cause]) => `\n  ${how}: ${cause}`);
  return new DevloopError(
    'identity.refused',
    `Nothing was changed, because the controller cannot work as ServiceAccount ${account.namespace}/${account.name}:${why.join('')}`,
    { hint: IDENTITY_HINT },
  );
}

function noManager(): DevloopError {
  return new DevloopError(
    'identity.refused',
    'Nothing was changed, because the ServiceAccount is that of the manager, and no manager was found in the cluster.',
    { hint: 'Name the ServiceAccount: devloop up --identity NAMESPACE/NAME' },
  );
}

function needsProxy(value: string): DevloopError {
  return new DevloopError(
    'usage.invalid',
    `With --api direct, the controller uses your kubeconfig, so it cannot work as ${value}.`,
    { hint: 'Leave out --api direct, or --identity.' },
  );
}
