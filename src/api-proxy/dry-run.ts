import type { IncomingHttpHeaders } from 'node:http';
import { NotStarted } from '../cluster/api/pass-on.ts';
import type { OwnAnswer, Refusal } from './answers.ts';
import { type ApiCall, isWrite } from './api-call.ts';
import type { RequestBody } from './body.ts';
import { lengthDelimited, nameInProtobuf, withFields } from './protobuf.ts';

/**
 * What becomes of a call in a run that changes nothing. dry: the API server answers as to any write, and stores nothing. echo: devloop answers
 * with what was sent. missing: with 404. kept: with what was sent before, or 404. never: nobody can be asked without a change.
 */
type Handling = 'pass' | 'dry' | 'echo' | 'missing' | 'kept' | 'never';

const LEASES = 'coordination.k8s.io/leases';
/** What a controller tells, and nobody plans. */
const TOLD = new Set(['/events', 'events.k8s.io/events']);
/** The token of a dry run works. */
const NEVER_DRY = new Set([
  'serviceaccounts/token',
  'pods/binding',
  'pods/exec',
  'pods/attach',
  'pods/portforward',
]);
const DELETIONS = new Set<ApiCall['verb']>(['delete', 'deletecollection']);
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const JSON_TYPE = 'application/json';
/** `dryRun: All` of DeleteOptions in protobuf. */
const DRY_DELETION = lengthDelimited(5, Buffer.from('All'));

/** Lets nothing of a program reach the API server that would change something. */
export class DryRun {
  #isAggregated: (group: string) => boolean;
  #leases = new Map<string, OwnAnswer>();

  /** `isAggregated`: whether another server answers for a group, which may not know what a dry run is. */
  constructor(isAggregated: (group: string) => boolean) {
    this.#isAggregated = isAggregated;
  }

  /** The call as it is asked, and the path with which it is asked. */
  asked(call: ApiCall, path: string): { call: ApiCall; path: string } {
    if (this.#handling(call) !== 'dry') return { call, path };
    const dry = `${path}${path.includes('?') ? '&' : '?'}dryRun=All`;
    return { call: { ...call, isDryRun: true }, path: dry };
  }

  /** The body with which the API server is asked. Throws NotStarted with the answer if it is not asked. `call`: as it came. */
  pass(call: ApiCall, headers: IncomingHttpHeaders, { kept, rest }: RequestBody): Buffer {
    const own = this.#instead(call, headers, kept);
    const isWhole = rest === undefined || !DELETIONS.has(call.verb);
    const sent = own === undefined && isWhole ? bodyOf(call, headers, kept) : undefined;
    if (sent === undefined) throw new NotStarted(own ?? NEVER);
    return sent;
  }

  /** What the client gets without the API server; undefined if that is asked. */
  #instead(call: ApiCall, headers: IncomingHttpHeaders, body: Buffer): OwnAnswer | Refusal | undefined {
    const type = headers['content-type'] ?? JSON_TYPE;
    const handling = this.#handling(call);
    const { name } = call.resource ?? {};
    if (handling === 'never') return NEVER;
    if (handling === 'missing') return MISSING;
    if (handling === 'kept') return this.#leases.get(keyOf(call, name)) ?? MISSING;
    if (handling !== 'echo') return undefined;
    const echo = { code: call.verb === 'create' ? 201 : 200, type, body };
    if (isOf(call, LEASES)) this.#leases.set(keyOf(call, name ?? nameIn(body, type)), { ...echo, code: 200 });
    return echo;
  }

  #handling(call: ApiCall): Handling {
    const { verb, resource } = call;
    const isLease = isOf(call, LEASES);
    if (isLease && verb === 'get') return 'kept';
    // What the client itself calls a dry run is judged like any write: a dry run is not harmless everywhere.
    if (!isWrite({ ...call, isDryRun: false })) return 'pass';
    if (resource === undefined || verb === 'connect' || this.#isAggregated(resource.group)) return 'never';
    const { resource: plural, subresource } = resource;
    if (plural === 'bindings' || NEVER_DRY.has(`${plural}/${subresource}`)) return 'never';
    if (subresource?.startsWith('proxy')) return 'never';
    if (isLease) return verb === 'create' || verb === 'update' ? 'echo' : 'missing';
    if (TOLD.has(`${resource.group}/${plural}`)) return verb === 'create' ? 'echo' : 'missing';
    return 'dry';
  }
}

/** The body of a dry call; undefined if it cannot be one. */
function bodyOf(call: ApiCall, headers: IncomingHttpHeaders, body: Buffer): Buffer | undefined {
  if (!DELETIONS.has(call.verb) || body.length === 0) return body;
  const type = headers['content-type'] ?? JSON_TYPE;
  if (type.startsWith(PROTOBUF)) return withFields(body, DRY_DELETION);
  const options = type.startsWith(JSON_TYPE) ? jsonIn(body) : undefined;
  return options && Buffer.from(JSON.stringify({ ...options, dryRun: ['All'] }));
}

const NEVER: Refusal = {
  ...{ code: 405, reason: 'MethodNotAllowed' },
  message: 'devloop: the API server cannot be asked this without a change, so it was not sent',
};
const MISSING: Refusal = { code: 404, reason: 'NotFound', message: 'devloop: it does not exist in this run' };

function isOf({ resource }: ApiCall, name: string): boolean {
  return `${resource?.group}/${resource?.resource}` === name && resource?.subresource === undefined;
}

function keyOf({ resource }: ApiCall, name = ''): string {
  return `${resource?.namespace}/${name}`;
}

function nameIn(body: Buffer, type: string): string | undefined {
  if (type.startsWith(PROTOBUF)) return nameInProtobuf(body);
  const { metadata } = (jsonIn(body) ?? {}) as { metadata?: { name?: unknown } };
  return typeof metadata?.name === 'string' ? metadata.name : undefined;
}

function jsonIn(body: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
