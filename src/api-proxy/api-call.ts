/** One request of the controller to the API server, as kube-apiserver itself understands its method and path. */
export interface ApiCall {
  method: string;
  verb: ApiVerb;
  /** The path without the query. */
  path: string;
  query: URLSearchParams;
  /** What it is about; absent for paths that name no resource, such as `/version` and those of discovery. */
  resource?: CalledResource;
  /** Whether it changes nothing, because it asks for that (`?dryRun=All`). */
  isDryRun: boolean;
}

/** RBAC's verbs, server-side apply apart from other patches, and `connect` for another protocol (`exec`, `port-forward`). */
export type ApiVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'apply'
  | 'delete'
  | 'deletecollection'
  | 'connect';

export interface CalledResource {
  /** `''` for the core group. */
  group: string;
  version: string;
  /** The plural, as in the path: `deployments`. */
  resource: string;
  /** As RBAC knows it, without what follows it: `proxy` for `services/web/proxy/metrics`. */
  subresource?: string;
  namespace?: string;
  name?: string;
}

const APPLY = 'application/apply-patch+';
/** Subresources of a namespace, which follow its name where otherwise a resource does. */
const OF_NAMESPACE = new Set(['status', 'finalize']);
/** Groups whose objects are questions: creating one stores nothing. */
const QUESTIONS = new Set(['authorization.k8s.io', 'authentication.k8s.io']);
const READS = new Set<ApiVerb>(['get', 'list', 'watch']);
/** Any other value asks for a watch. */
const NO_WATCH = new Set(['0', 'false']);
const CAN_BE_DRY = new Set<ApiVerb>(['create', 'update', 'patch', 'apply']);
/** The subresource behind which a program of the cluster's answers. Nobody knows what its reads do. */
const PROXY = 'proxy';

/** `url`: path and query, as in the request line. `contentType`: that of the body. */
export function apiCall(
  { method, url, contentType = '' }: { method: string; url: string; contentType?: string | undefined },
  isUpgrade = false,
): ApiCall {
  const at = url.indexOf('?');
  const path = at < 0 ? url : url.slice(0, at);
  // A second question mark belongs to the first key; without the ampersand, it would be dropped.
  const query = new URLSearchParams(at < 0 ? '' : `&${url.slice(at + 1)}`);
  const resource = calledResource(path);
  // kube-apiserver reads this only of lists: `exec` can have a query of that name, too. Python's client says `True`.
  const isWatch = resource?.name === undefined && !NO_WATCH.has((query.get('watch') ?? '0').toLowerCase());
  const verb = isUpgrade && !isWatch ? 'connect' : verbOf(method, { resource, isWatch, contentType });
  return {
    ...{ method, verb, path, query },
    ...(resource === undefined ? {} : { resource }),
    // Of a deletion with a body, kube-apiserver reads the options from there alone.
    isDryRun: CAN_BE_DRY.has(verb) && resource !== undefined && query.getAll('dryRun').includes('All'),
  };
}

export function isRead({ verb }: ApiCall): boolean {
  return READS.has(verb);
}

/**
 * Whether kube-apiserver may understand the path otherwise: it decodes the path before it splits it. What is behind a proxy counts as a write
 * in any case.
 */
export function isAmbiguous({ path, resource }: ApiCall): boolean {
  if (resource?.subresource === PROXY) return false;
  return /%2f/i.test(path) || !canBeDecoded(path);
}

/** Whether the cluster can be another one after this call. What is not known for sure counts as a write. */
export function isWrite(call: ApiCall): boolean {
  const { resource, isDryRun } = call;
  return (
    resource?.subresource === PROXY || (!isRead(call) && !isDryRun && !QUESTIONS.has(resource?.group ?? ''))
  );
}

function verbOf(
  method: string,
  {
    resource,
    isWatch,
    contentType,
  }: { resource: CalledResource | undefined; isWatch: boolean; contentType: string },
): ApiVerb {
  const isOne = resource === undefined || resource.name !== undefined;
  if (method === 'GET' || method === 'HEAD') {
    if (isWatch) return 'watch';
    return isOne ? 'get' : 'list';
  }
  if (method === 'PUT') return 'update';
  if (method === 'DELETE') return isOne ? 'delete' : 'deletecollection';
  if (method === 'PATCH') return contentType.startsWith(APPLY) ? 'apply' : 'patch';
  return 'create';
}

/** Undefined for a path that names no resource, and for one that kube-apiserver does not know. */
function calledResource(path: string): CalledResource | undefined {
  const [first, ...rest] = path.split('/').filter(Boolean).map(decoded);
  const isCore = first === 'api';
  if (!isCore && first !== 'apis') return undefined;
  const [group = '', version, ...parts] = isCore ? ['', ...rest] : rest;
  if (version === undefined || parts.length === 0) return undefined;
  const [kind, name, ...below] = parts;
  const isInNamespace = kind === 'namespaces' && below.length > 0 && !OF_NAMESPACE.has(below[0]!);
  const [resource = '', ...more] = isInNamespace ? below : parts;
  return {
    ...{ group, version, resource },
    ...(more[1] === undefined ? {} : { subresource: more[1] }),
    ...(isInNamespace ? { namespace: name! } : {}),
    ...(more[0] === undefined ? {} : { name: more[0] }),
  };
}

function canBeDecoded(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
