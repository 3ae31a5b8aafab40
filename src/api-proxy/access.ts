import type { IncomingHttpHeaders } from 'node:http';
import { accountIn } from '../cluster/api/service-account.ts';
import type { Access } from '../report/rbac.ts';
import type { ApiCall } from './api-call.ts';

/** What the API server asks RBAC about a call, apart from the verb. */
export function askedOf({ verb, path, query, resource: called }: ApiCall): Omit<Access, 'verb'> {
  if (called === undefined) return { path };
  const { group, resource, subresource, namespace } = called;
  const name = verb === 'list' || verb === 'watch' ? selectedName(query) : called.name;
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  // A namespace is in itself.
  const where = group === '' && resource === 'namespaces' ? name : namespace;
  return {
    ...{ group, resource: full },
    ...(where === undefined ? {} : { namespace: where }),
    ...(name === undefined ? {} : { name }),
  };
}

/** kube-apiserver takes a list of one name for a question about that object. */
function selectedName(query: URLSearchParams): string | undefined {
  const terms = (query.get('fieldSelector') ?? '').split(',');
  return terms
    .map((term) => /^metadata\.name==?([^=].*)$/.exec(term)?.[1])
    .find((name) => name !== undefined);
}

/** The verb of RBAC for a call, and those that the API server, or the client, may have asked for next. */
export function verbsOf({ verb, method }: ApiCall): { verb: string; next?: string } {
  // A cache needs both, and asks for one after the other.
  if (verb === 'list') return { verb, next: 'watch' };
  if (verb === 'watch') return { verb, next: 'list' };
  // An apply, and an update of some kinds, creates what does not exist.
  if (verb === 'apply') return { verb: 'patch', next: 'create' };
  if (verb === 'update') return { verb, next: 'create' };
  if (verb !== 'connect') return { verb };
  // Since Kubernetes 1.35, `exec` over a WebSocket needs both.
  return method === 'GET' ? { verb: 'get', next: 'create' } : { verb: 'create' };
}

/** What a call needs that asks to be taken for another account's: then RBAC is asked about that account, and about these. */
export function impersonated(headers: IncomingHttpHeaders): Access[] {
  const verb = 'impersonate';
  // Node joins the values of repeated headers.
  const all = (name: string): string[] => [headers[name] ?? []].flat().flatMap((one) => one.split(', '));
  const users = all('impersonate-user').map((user): Access => {
    const account = accountIn(user);
    return account === undefined
      ? { verb, group: '', resource: 'users', name: user }
      : { verb, group: '', resource: 'serviceaccounts', ...account };
  });
  const groups = all('impersonate-group').map((name) => ({ verb, group: '', resource: 'groups', name }));
  return [...users, ...groups];
}

export function impersonates(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => name.startsWith('impersonate-'));
}
