import { type ApiCall, isWrite } from '../api-proxy/api-call.ts';
import type { ServedAnswer, ServedCall } from '../api-proxy/observed.ts';
import type { KubeObject } from '../cluster/api/objects.ts';
import type { PathStep } from '../config/json-path.ts';
import { shortened } from '../phrases.ts';
import { differences, inWords } from './changes.ts';
import { managerOf, ownChanges } from './own-changes.ts';
import { CALLS_VERSION, type CallRecord } from './record.ts';
import { isOfSecrets, withoutSecrets } from './redacted.ts';
import { jsonIn, objectIn, type Versions } from './versions.ts';

/** Larger objects are not kept with a write, only the fields that it changed. */
const LARGEST_KEPT = 256 * 1024;
const LONGEST_MESSAGE = 2_000;
const MOST_WARNINGS = 20;
const LONGEST_SELECTOR = 500;
const LONGEST_PATH = 500;

export interface CallContext {
  id: string;
  versions: Versions;
  /** The fields that the user wants replaced. */
  paths: PathStep[][];
  build?: string | undefined;
  /** The status with which the API server ended a watch. */
  watchError?: object | undefined;
}

/** A call, and the version of an object that its answer has, or the versions of a list, unless it failed. */
export interface RecordedCall {
  record: CallRecord;
  answered: KubeObject | undefined;
  listed: KubeObject[];
}

/** The record of a call; what its answer reveals of objects is remembered. */
export function callRecord(
  served: ServedCall,
  { id, versions, paths, build, watchError }: CallContext,
): RecordedCall {
  const { call, at, headers, answer, ms } = served;
  const said = watchError ?? parsed(answer);
  const isFailure = (answer?.status ?? 500) >= 400;
  const written = isFailure || !isVersion(call) ? undefined : objectIn(said);
  const listed = isFailure || call.verb !== 'list' ? [] : itemsOf(said);
  const reconcile = headers['devloop-reconcile'];
  const refused = isFailure && call.verb === 'create' ? refusedName(said) : {};
  const { kind, ...what } = { ...subjectOf(call), ...refused, ...kindOf(call, versions), ...nameOf(written) };
  const record: CallRecord = {
    v: CALLS_VERSION,
    ...{ id, at: new Date(at).toISOString(), verb: call.verb, ...what, ...ofMany(served, said) },
    ...(kind === undefined ? {} : { kind }),
    ...resultOf(served),
    ...withoutSecrets(isFailure || watchError ? { message: messageOf(said, answer) } : {}, false, paths),
    ...(typeof reconcile === 'string' ? { reconcile } : {}),
    ...warningsOf(answer, paths),
    ...(answer?.reviews?.length ? { reviews: answer.reviews } : {}),
    ms: Math.round(ms * 10) / 10,
    ...(build === undefined ? {} : { build }),
    ...(isFailure ? {} : stateOf(served, { written, listed }, { versions, paths })),
  };
  return { record, answered: written, listed };
}

function resultOf({
  call,
  answer,
  isOwn,
  faults,
}: ServedCall): Pick<CallRecord, 'isWrite' | 'isDryRun' | 'code' | 'isOwn' | 'faults'> {
  return {
    ...(isWrite(call) ? { isWrite: true as const } : {}),
    ...(call.isDryRun ? { isDryRun: true as const } : {}),
    ...(answer === undefined ? {} : { code: answer.status }),
    ...(isOwn ? { isOwn } : {}),
    ...(faults ? { faults } : {}),
  };
}

/** What a list or a watch asks for, and how much it got. */
function ofMany(
  { call, answer, isOpen }: ServedCall,
  said: unknown,
): Partial<Pick<CallRecord, 'selector' | 'bytes' | 'items' | 'isOpen'>> {
  if (call.verb !== 'list' && call.verb !== 'watch') return {};
  const selector = ['labelSelector', 'fieldSelector'].flatMap((name) => call.query.get(name) || []).join(' ');
  const bytes = answer && (answer.unpackedBytes ?? answer.bytes);
  // The last event of the objects that there were is a bookmark.
  const { items: listed } = (said ?? {}) as { items?: unknown };
  const items = isOpen ? (answer?.events ?? 1) - 1 : Array.isArray(listed) ? listed.length : undefined;
  return {
    ...(selector === '' ? {} : { selector: shortened(selector, LONGEST_SELECTOR) }),
    ...(bytes === undefined ? {} : { bytes }),
    ...(items === undefined ? {} : { items }),
    ...(isOpen ? { isOpen } : {}),
  };
}

/** The answer to a subresource such as scale or eviction is no version of the object, and behind a proxy anything can answer. */
export function isVersion({ resource }: ApiCall): boolean {
  return ['status', undefined].includes(resource?.subresource);
}

type State = Partial<Pick<CallRecord, 'changes' | 'more' | 'isUnchanged' | 'objectBefore' | 'objectAfter'>>;

/** What the answer says about objects: after a write, also what it changed. */
function stateOf(
  served: ServedCall,
  { written, listed }: { written: KubeObject | undefined; listed: KubeObject[] },
  { versions, paths }: Pick<CallContext, 'versions' | 'paths'>,
): State {
  const { call, at, ms } = served;
  for (const object of listed) versions.add({ of: call.resource, object, at: at + ms });
  if (!isVersion(call)) return {};
  if (call.verb === 'delete') return deleted(call, call.resource && versions.at(call.resource, at), paths);
  if (written === undefined) return {};
  const before = call.isDryRun
    ? call.resource && versions.at({ ...call.resource, name: written.metadata.name }, at)
    : versions.add({ of: call.resource, object: written, at: at + ms }, at);
  if (!isWrite(call) && !call.isDryRun) return {};
  if (before && isSame(before, written, call)) return { isUnchanged: true };
  if (call.verb === 'create' || before === undefined)
    return shownOf(served, { before, after: written }, paths);
  const found = differences(before, written);
  const manager = managerOf(call, served.headers);
  const own = ownChanges(found, { call, manager, before, after: written });
  if (found.length > 0 && own.length === 0) return { isUnchanged: true };
  const shown = shownOf(served, { before, after: written }, paths);
  return { ...inWords(own, shown.objectAfter), ...shown };
}

/** Both versions of an object that is not too large, without its secrets. Of one that was not known before, all fields would count as new. */
function shownOf(
  { call, answer }: ServedCall,
  { before, after }: { before: KubeObject | undefined; after: KubeObject },
  paths: PathStep[][],
): Pick<State, 'objectBefore' | 'objectAfter'> {
  if ((answer?.bytes ?? 0) > LARGEST_KEPT) return {};
  const shown = before === undefined ? { objectAfter: after } : { objectBefore: before, objectAfter: after };
  return withoutSecrets(shown, isOfSecrets(call), paths) ?? {};
}

/** A dry run stores nothing, so its answer has the version of the object before it. */
function isSame(before: KubeObject, after: KubeObject, { isDryRun }: ApiCall): boolean {
  if (isDryRun) return differences(before, after).length === 0;
  return before.metadata.resourceVersion === after.metadata.resourceVersion && !isReleased(before, after);
}

/** Whether the last finalizer was removed: then the API server deletes the object, and answers with the version before. */
function isReleased({ metadata: before }: KubeObject, { metadata: after }: KubeObject): boolean {
  const isLast = (before.finalizers ?? []).length > 0 && (after.finalizers ?? []).length === 0;
  return isLast && after.deletionTimestamp !== undefined;
}

function deleted(call: ApiCall, before: KubeObject | undefined, paths: PathStep[][]): State {
  if (before === undefined || JSON.stringify(before).length > LARGEST_KEPT) return {};
  return { objectBefore: withoutSecrets(before, isOfSecrets(call), paths) };
}

/** The objects of a list, with the type that they have in common. */
function itemsOf(list: unknown): KubeObject[] {
  const {
    items,
    kind = '',
    apiVersion,
  } = (list ?? {}) as { items?: unknown; kind?: string; apiVersion?: string };
  if (!Array.isArray(items)) return [];
  const type = {
    kind: String(kind).replace(/List$/, ''),
    ...(apiVersion === undefined ? {} : { apiVersion }),
  };
  return items.flatMap((item) => objectIn({ ...type, ...item }) ?? []);
}

function subjectOf({
  path,
  resource,
}: ApiCall): Pick<CallRecord, 'path' | 'group' | 'resource' | 'namespace' | 'name' | 'kind'> {
  if (resource === undefined) return { path: shortened(path, LONGEST_PATH) };
  const { group, resource: plural, subresource, namespace, name } = resource;
  return {
    ...{ group, resource: [plural, subresource].filter(Boolean).join('/') },
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  };
}

/** The path of what is to be created has no name, but the API server's refusal does. */
function refusedName(status: unknown): Pick<CallRecord, 'name'> {
  const { details } = (status ?? {}) as { details?: { name?: unknown } | null };
  return typeof details?.name === 'string' && details.name !== '' ? { name: details.name } : {};
}

/** What a write was about also if it was refused, and so has no object in its answer. */
function kindOf(call: ApiCall, versions: Versions): Pick<CallRecord, 'kind'> {
  const { resource } = call;
  const kind = resource && isWrite(call) && isVersion(call) ? versions.kindOf(resource) : undefined;
  return kind === undefined ? {} : { kind };
}

/** A created object may get its name only from the API server. */
function nameOf(object: KubeObject | undefined): Partial<Pick<CallRecord, 'kind' | 'name'>> {
  return object === undefined ? {} : { kind: object.kind!, name: object.metadata.name };
}

function warningsOf({ warnings = [] }: Partial<ServedAnswer> = {}, paths: PathStep[][]): Partial<CallRecord> {
  if (warnings.length === 0) return {};
  const shown = warnings.slice(0, MOST_WARNINGS).map((one) => one.slice(0, LONGEST_MESSAGE));
  return withoutSecrets({ warnings: shown }, false, paths) ?? {};
}

function messageOf(said: unknown, answer: ServedAnswer | undefined): string {
  const { message } = (said ?? {}) as { message?: unknown };
  const text = typeof message === 'string' ? message : answer ? `status ${answer.status}` : 'no answer';
  return text.slice(0, LONGEST_MESSAGE);
}

function parsed({ headers, body }: Partial<ServedAnswer> = {}): unknown {
  const isReadable =
    headers?.['content-encoding'] === undefined && (headers?.['content-type'] ?? '').includes('json');
  return body === undefined || !isReadable ? undefined : jsonIn(body);
}
