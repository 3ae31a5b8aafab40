import type { PathStep } from '../config/json-path.ts';
import { budgetOf } from '../gateway/budget.ts';
import type { ArrivedReview, ServedReview } from '../gateway/hooks.ts';
import { plainBody } from '../gateway/http.ts';
import type { CrdFields } from '../operator/crd-fields.ts';
import { prunedFields } from '../operator/pruned.ts';
import type { ReviewSummary, ReviewVerdict, WaitingReview } from '../report/review.ts';
import { type NamedCall, nameOf, sideEffectsOf, typeOf } from './names.ts';
import { changesOf, decodePatch, type PatchOperation, patchWords } from './patch.ts';
import { RECORD_VERSION, type ReviewRecord, warningTexts } from './record.ts';
import { type Redacted, type RedactOptions, redact, TooMuchWork } from './redact.ts';

/** Larger requests and responses are not kept, only a summary of the review. */
const LARGEST_KEPT = 256 * 1024;
/** The same for those whose redaction would take more work than this, which is a tenth of a second. */
const MOST_WORK = 50_000;
/** Only this many changes of a patch are listed in the summary. */
const MOST_CHANGES = 100;
const LONGEST_MESSAGE = 2_000;
const MOST_WARNINGS = 20;
const MOST_VERSIONS = 20;

export interface RecordOptions {
  id: string;
  /** The webhooks that call the Services. */
  calls: NamedCall[];
  /** The fields that the user wants replaced. */
  paths?: PathStep[][];
  /** The CRDs of the objects that the webhooks review. */
  crds?: CrdFields[];
}

/** The record of a review. Never throws: whatever was sent or answered, there is a line for it. */
export function recordOf(
  served: ServedReview,
  { id, calls, paths = [], crds = [] }: RecordOptions,
): ReviewRecord {
  const { url, port, at, body, faults, ms } = served;
  const request = parsed(body);
  const answer = served.answer && { ...served.answer, body: plainBody(served.answer) };
  const response = answer && withPatch(parsed(answer.body));
  const path = url.split('?', 1)[0]!;
  const asked = factsOf(request, path, calls);
  const isSecret = asked.resource?.kind === 'Secret';
  const redacting = { isSecret, paths, object: fieldOf(fieldOf(request, 'request'), 'object') };
  const uid = textOf(fieldOf(request, 'request'), 'uid');
  const summary: ReviewSummary = {
    id,
    ...(uid === '' ? {} : { uid }),
    at: new Date(at).toISOString(),
    path,
    port,
    ...asked,
    ...verdictOf(asked, answer, { response, redacting }),
    ...prunedIn(asked, { request, response }, crds),
    ...(faults ? { faults } : {}),
    ms,
  };
  const size = { request: body.length, response: Buffer.byteLength(answer?.body ?? '') };
  const isLarge = size.request > LARGEST_KEPT || size.response > LARGEST_KEPT;
  const whole = isLarge ? undefined : redactedWithin({ summary, request, response }, redacting);
  const safe = whole ?? redact({ summary }, redacting);
  const { summary: safeSummary, ...review } = safe.value;
  return {
    v: RECORD_VERSION,
    ...safeSummary,
    ...review,
    ...(whole === undefined ? { size } : {}),
    ...(safe.count > 0 ? { redacted: safe.count } : {}),
  };
}

/** Undefined if it would take too much work. */
function redactedWithin<T>(value: T, options: RedactOptions): Redacted<T> | undefined {
  try {
    return redact(value, { ...options, mostWork: MOST_WORK });
  } catch (error) {
    if (error instanceof TooMuchWork) return undefined;
    throw error;
  }
}

/** What is known about a review that has just arrived. Never throws. */
export function waitingOf(
  { url, at, body, waitsFor }: ArrivedReview,
  { calls, paths = [] }: Omit<RecordOptions, 'id'>,
): WaitingReview {
  const path = url.split('?', 1)[0]!;
  const { sideEffects: _, ...facts } = factsOf(parsed(body), path, calls);
  const ms = { total: 0, budget: budgetOf(url) };
  const waiting = { at: new Date(at).toISOString(), path, ...facts, waitsFor, ms };
  return redact({ waiting }, { isSecret: facts.resource?.kind === 'Secret', paths }).value.waiting;
}

type Facts = Pick<
  ReviewSummary,
  | 'kind'
  | 'webhook'
  | 'webhookType'
  | 'operation'
  | 'resource'
  | 'object'
  | 'user'
  | 'dryRun'
  | 'sideEffects'
  | 'from'
  | 'to'
  | 'objects'
>;

function factsOf(review: unknown, path: string, calls: NamedCall[]): Facts {
  const request = fieldOf(review, 'request');
  const kind = textOf(review, 'kind');
  if (kind === 'ConversionReview' && isObject(request)) return conversionFacts(request, path, calls);
  if (kind === 'AdmissionReview' && isObject(request)) return admissionFacts(request, path, calls);
  return { kind: 'unreadable', webhook: nameOf(calls, { path }) };
}

function admissionFacts(request: object, path: string, calls: NamedCall[]): Facts {
  const operation = textOf(request, 'operation');
  const of = fieldOf(request, 'kind');
  // The resource in the version that the webhook gets. With matchPolicy Equivalent, the client may have asked for another version.
  const resource = fieldOf(request, 'resource');
  const subresource = textOf(request, 'subResource');
  const asked = {
    path,
    operation,
    group: textOf(resource, 'group'),
    resource: [textOf(resource, 'resource'), subresource].filter(Boolean).join('/'),
  };
  const namespace = textOf(request, 'namespace');
  const sideEffects = sideEffectsOf(calls, asked);
  const webhookType = typeOf(calls, asked);
  return {
    kind: 'admission',
    webhook: nameOf(calls, asked),
    ...(webhookType && { webhookType }),
    operation,
    resource: { group: textOf(of, 'group'), version: textOf(of, 'version'), kind: textOf(of, 'kind') },
    object: { ...(namespace === '' ? {} : { namespace }), name: objectName(request) },
    user: textOf(fieldOf(request, 'userInfo'), 'username'),
    ...(fieldOf(request, 'dryRun') === true ? { dryRun: true } : {}),
    sideEffects,
  };
}

/** A CREATE with generateName has no name yet. */
function objectName(request: object): string {
  const metadata = fieldOf(fieldOf(request, 'object') ?? fieldOf(request, 'oldObject'), 'metadata');
  const generated = textOf(metadata, 'generateName');
  return textOf(request, 'name') || textOf(metadata, 'name') || (generated && `${generated}*`);
}

function conversionFacts(request: object, path: string, calls: NamedCall[]): Facts {
  const objects = fieldOf(request, 'objects');
  const list = Array.isArray(objects) ? objects : [];
  const to = textOf(request, 'desiredAPIVersion');
  const group = to.split('/')[0] ?? '';
  // A CRD is named `<plural>.<group>`.
  const isOfGroup = ({ name, rules }: NamedCall): boolean =>
    rules === undefined && name.slice(name.indexOf('.') + 1) === group;
  const ofGroup = calls.filter(isOfGroup);
  const kind = textOf(list[0], 'kind');
  const ofKind = ofGroup.filter(({ converts }) => converts === kind);
  const named = [ofKind, ofGroup, calls].find((some) => some.length > 0) ?? [];
  return {
    kind: 'conversion',
    webhook: nameOf(named, { path }),
    resource: { group, version: to.split('/')[1] ?? '', kind },
    from: [...new Set(list.map((one) => textOf(one, 'apiVersion')))].slice(0, MOST_VERSIONS),
    to,
    objects: list.length,
  };
}

/** What an admitted change of a custom resource loses. */
function prunedIn(
  { resource, operation }: Facts,
  { request, response }: { request: unknown; response: unknown },
  crds: CrdFields[],
): Pick<ReviewSummary, 'pruned'> {
  const of = crds.find(({ group, kind }) => group === resource?.group && kind === resource.kind);
  const given = fieldOf(response, 'response');
  const operations = fieldOf(given, 'patch') as PatchOperation[] | undefined;
  const isWrite = operation === 'CREATE' || operation === 'UPDATE';
  const isOfObject = textOf(fieldOf(request, 'request'), 'subResource') === '';
  if (!of || !operations || !isWrite || !isOfObject || fieldOf(given, 'allowed') !== true) return {};
  const pruned = prunedFields(of, resource!.version, changesOf(operations));
  return pruned.length > 0 ? { pruned } : {};
}

type Outcome = Pick<ReviewSummary, 'verdict' | 'code' | 'message' | 'warnings' | 'patch' | 'changes'>;

function verdictOf(
  { kind }: Facts,
  answer: ServedReview['answer'],
  { response, redacting }: { response: unknown; redacting: RedactOptions },
): Outcome {
  if (answer === undefined)
    return { verdict: 'unanswered', message: 'the client disconnected before it got an answer' };
  const given = fieldOf(response, 'response');
  // A text is devloop's own answer, bytes are the controller's.
  if (typeof answer.body === 'string') {
    const own = isObject(given) ? ownOutcome(given, kind) : undefined;
    const message = textOf(response, 'message');
    return { code: answer.status, ...(own ?? { message }), verdict: 'answered-by-devloop' };
  }
  if (answer.status !== 200)
    return {
      verdict: 'failed',
      code: answer.status,
      message: cut(answer.body.toString('utf8')),
    };
  if (!isObject(given)) return { verdict: 'failed', code: 200, message: 'the answer is not a review' };
  return kind === 'conversion' ? conversionOutcome(given) : admissionOutcome(given, redacting);
}

function ownOutcome(response: object, kind: Facts['kind']): Outcome {
  return kind === 'conversion' ? conversionOutcome(response) : admissionOutcome(response, {});
}

function conversionOutcome(response: object): Outcome {
  const result = fieldOf(response, 'result');
  if (textOf(result, 'status') === 'Success') return { verdict: 'converted' };
  const code = fieldOf(result, 'code');
  const message = textOf(result, 'message');
  return { verdict: 'failed', ...(typeof code === 'number' ? { code } : {}), message };
}

/** The outcome of a response whose patch is already a list. */
function admissionOutcome(response: object, options: RedactOptions): Outcome {
  const allowed = fieldOf(response, 'allowed');
  if (typeof allowed !== 'boolean')
    return { verdict: 'failed', message: 'the answer says neither allowed nor denied' };
  const status = fieldOf(response, 'status');
  const code = fieldOf(status, 'code');
  const warnings = warningTexts(fieldOf(response, 'warnings'));
  const verdict: ReviewVerdict = allowed ? 'allowed' : 'denied';
  const operations = fieldOf(response, 'patch') as PatchOperation[] | undefined;
  const message = textOf(status, 'message') || textOf(status, 'reason');
  return {
    verdict,
    ...(typeof code === 'number' ? { code } : {}),
    ...(message === '' ? {} : { message }),
    ...(warnings.length > 0 ? { warnings: warnings.slice(0, MOST_WARNINGS).map(cut) } : {}),
    ...(operations && operations.length > 0 ? changeWords(operations, options) : {}),
  };
}

/** The first changes of a patch, and their number if there are more. */
function changeWords(
  operations: PatchOperation[],
  options: RedactOptions,
): Pick<Outcome, 'patch' | 'changes'> {
  const safe = redact({ operations: operations.slice(0, MOST_CHANGES).map(withShortValue) }, options);
  return {
    patch: patchWords(safe.value.operations).map(cut),
    ...(operations.length > MOST_CHANGES ? { changes: operations.length } : {}),
  };
}

/** Without a value that is too long to be shown, so that it need not be redacted. */
function withShortValue(operation: PatchOperation): PatchOperation {
  const { value, ...rest } = operation;
  const isLong = typeof value === 'object' || (typeof value === 'string' && value.length > LONGEST_MESSAGE);
  return isLong ? rest : operation;
}

/** Replaces the patch with a list, which people can read and from which secrets can be removed. A patch that cannot be read is left out. */
function withPatch(review: unknown): unknown {
  const response = fieldOf(review, 'response');
  if (!isObject(review) || !isObject(response) || !('patch' in response)) return review;
  return { ...review, response: { ...response, patch: decodePatch(response.patch) } };
}

function parsed(body: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

function textOf(value: unknown, key: string): string {
  const field = fieldOf(value, key);
  return typeof field === 'string' ? cut(field) : '';
}

function cut(text: string): string {
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;
}
