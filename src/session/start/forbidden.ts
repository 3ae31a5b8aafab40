import type { IncomingHttpHeaders } from 'node:http';
import { askedOf, impersonates, verbsOf } from '../../api-proxy/access.ts';
import { type ApiCall, apiCall } from '../../api-proxy/api-call.ts';
import type { Forwarder } from '../../cluster/api/pass-on.ts';
import { accountIn, deniedVerbs } from '../../cluster/api/service-account.ts';
import type { Work } from '../../cluster/work.ts';
import { checkoutRoles } from '../../operator/manifests/granting.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { inOrder } from '../../report/rbac.ts';
import { cureFor } from './cure.ts';
import type { Identity } from './identity.ts';

/** A loop is refused again and again. */
const TOLD_TIMES = new Set([1, 10, 100, 1_000, 10_000, 100_000]);
const MOST = 1_000;
const CHECK_MS = 10_000;

/** The checkout, whether its program is written in Go, and the variables with which devloop was started. */
interface Place {
  root: string;
  isGo: boolean;
  env: Record<string, string | undefined>;
}

interface Refusal {
  group: string;
  /** With its subresource, as RBAC writes it. */
  resource: string;
  namespace: string | undefined;
  name: string | undefined;
  /** The verbs that the API server may have asked RBAC for. */
  asked: string[];
  /** How often the controller was refused this, this time included. */
  times: number;
}

/**
 * Says at once what the controller is not allowed to do and how to change that: a manager whose caches may not list exits after two minutes. The
 * API server itself is asked whether RBAC was the reason, because webhooks and policies refuse with the same status.
 */
export function noticeForbidden(
  { upstream, username }: Pick<Identity, 'upstream' | 'username'>,
  at: Place & Pick<Work, 'api' | 'emit' | 'signal'>,
): Forwarder {
  const counts = new Map<string, { times: number; told: Promise<void> }>();
  const refused = (call: ApiCall): void => {
    const { group, resource, namespace, name } = askedOf(call);
    if (group === undefined || resource === undefined) return;
    const { verb, next } = verbsOf(call);
    const asked = inOrder([verb, ...(next === undefined ? [] : [next])]);
    const key = `${asked.join()} ${resource}.${group} ${namespace ?? ''}`;
    const { times: before, told } = counts.get(key) ?? { times: 0, told: Promise.resolve() };
    if (before === 0 && counts.size === MOST) return;
    const times = before + 1;
    // Nothing depends on it: what the API server answered goes to the controller in any case.
    const tell = () => say({ group, resource, namespace, name, asked, times }).catch(() => {});
    // A loop may be refused ten times before the first was looked into; they are said in their order.
    counts.set(key, { times, told: TOLD_TIMES.has(times) ? told.then(tell) : told });
  };
  const say = async ({ group, resource, namespace, name, asked, times }: Refusal): Promise<void> => {
    const account = username();
    const limit = AbortSignal.any([at.signal, AbortSignal.timeout(CHECK_MS)]);
    const [plural = '', subresource] = resource.split('/');
    const wanted = { group, resource: plural, subresource, namespace, name };
    const verbs = await deniedVerbs(upstream, wanted, asked, limit);
    if (verbs.length === 0) return;
    const rule = { group, resource, verbs };
    const owner = accountIn(account);
    const cure =
      owner &&
      (await cureFor(
        { ...rule, names: [name ?? ''] },
        { namespace, owner, ...at, ...(await checkoutRoles(at.root, owner.name)) },
      ));
    at.emit(notice('api.forbidden', { ...rule, namespace, name, account, times, ...cure }));
  };
  const observe = (
    { statusCode }: { statusCode?: number | undefined },
    request: { method: string; path: string; headers: IncomingHttpHeaders },
    isUpgrade: boolean,
  ): void => {
    if (statusCode !== 403) return;
    const { method, path: url, headers } = request;
    // Then it was another account that was refused.
    if (impersonates(headers)) return;
    refused(apiCall({ method, url, contentType: headers['content-type'] }, isUpgrade));
  };
  return {
    async forward(request) {
      const answer = await upstream.forward(request);
      observe(answer, request, false);
      return answer;
    },
    async forwardUpgrade(request) {
      const answered = await upstream.forwardUpgrade(request);
      observe(answered.answer, request, true);
      return answered;
    },
  };
}
