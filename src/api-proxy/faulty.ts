import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as after } from 'node:timers/promises';
import { NotStarted } from '../cluster/api/pass-on.ts';
import type { Injected, Injector } from '../faults/injector.ts';
import { FAULT_CODES, type Subject } from '../faults/rule.ts';
import type { Refusal } from './answers.ts';
import { type ApiCall, isWrite } from './api-call.ts';
import type { CallTrace } from './observed.ts';
import { nameInProtobuf } from './protobuf.ts';

const LINE_END = 0x0a;
/** A longer event is passed on as it is. */
const LARGEST_READ = 2 ** 20;

interface Met {
  trace: CallTrace | undefined;
  signal: AbortSignal;
  /** The body of the request, as far as it is kept: it names what is to be created. */
  body?: Buffer;
  /** Closes the connection without an answer. */
  close(): void;
  /** Kills the controller; absent if devloop has not started it. */
  crash?: ((rule: string) => void) | undefined;
}

/** Lets a call wait, as the rules that it meets say. Throws NotStarted with the answer of a rule, and another error if it is closed. */
export async function meetFaults(
  faults: Injector | undefined,
  call: ApiCall,
  { trace, signal, body, close, crash }: Met,
): Promise<void> {
  const injected = faults?.hasRules ? faults.meet(subjectOf(call, body)) : undefined;
  if (injected === undefined) return;
  trace?.injected(injected.by);
  if (injected.delayMs > 0) await after(injected.delayMs, undefined, { signal });
  if (injected.end?.do === 'answer') throw new NotStarted(refusalOf(injected.end, injected, call));
  if (injected.end === undefined) return;
  if (injected.end.do === 'crash') crash?.(injected.by.at(-1)!);
  close();
  throw new Error('closed by a fault');
}

/** Kills the controller if the write has succeeded and a rule says so; then this throws, and no answer is sent. */
export async function meetAnswered(
  faults: Injector | undefined,
  call: ApiCall,
  answered: IncomingMessage,
  { trace, body, close, crash }: Met,
): Promise<void> {
  if (!faults?.hasRules || !isWrite(call) || (answered.statusCode ?? 500) >= 400) return;
  const injected = faults.meetAnswered(subjectOf(call, body));
  if (injected === undefined) return;
  trace?.injected(injected.by);
  trace?.answered(answered, answered);
  answered.resume();
  await finished(answered);
  trace?.ended();
  crash?.(injected.by.at(-1)!);
  close();
  throw new Error('closed by a fault');
}

/** The path of what is to be created has no name. */
function subjectOf({ verb, resource }: ApiCall, body?: Buffer): Subject {
  const name = resource?.name ?? (verb === 'create' && body ? nameIn(body) : undefined);
  return { verb, ...resource, ...(name === undefined ? {} : { name }) };
}

/** What is to be created may get its name from the API server; then this is how that begins. */
function nameIn(body: Buffer): string | undefined {
  try {
    const { metadata } = JSON.parse(body.toString('utf8')) as { metadata?: Record<string, unknown> };
    return String(metadata?.name || metadata?.generateName || '');
  } catch {
    return nameInProtobuf(body);
  }
}

function refusalOf(
  { code, retryAfterSeconds }: Extract<Injected['end'], { do: 'answer' }>,
  { by }: Injected,
  { verb }: ApiCall,
): Refusal {
  const reason = code === 409 && verb === 'create' ? 'AlreadyExists' : FAULT_CODES[code];
  return {
    ...{ code, reason, message: `devloop: injected by the fault "${by.at(-1)}"` },
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** The answer; if it is that of a watch, without the events that a rule drops, as late as a rule delays them, and failing where one cuts it. */
export function withFaults(
  answer: Readable,
  faults: Injector | undefined,
  call: ApiCall,
  signal: AbortSignal,
): Readable {
  if (faults === undefined || call.verb !== 'watch') return answer;
  return Readable.from(faulty(answer, faults, call, signal), { objectMode: false });
}

async function* faulty(
  events: AsyncIterable<Buffer>,
  faults: Injector,
  call: ApiCall,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const isReading = (): boolean => faults.isAboutEventsOf(subjectOf(call));
  for await (const { bytes, isLine } of pieces(events, isReading)) {
    const subject = isLine ? subjectOfEvent(bytes, call) : undefined;
    const injected = subject && faults.meetEvent(subject);
    if (injected && injected.delayMs > 0) await after(injected.delayMs, undefined, { signal });
    if (injected?.end?.do === 'cut') throw new Error(`cut by the fault "${injected.by.at(-1)}"`);
    if (injected?.end === undefined) yield bytes;
  }
}

/** What arrives, as it arrives, or line by line as long as it is to be read. */
async function* pieces(
  chunks: AsyncIterable<Buffer>,
  isReading: () => boolean,
): AsyncGenerator<{ bytes: Buffer; isLine: boolean }> {
  let rest: Buffer = Buffer.alloc(0);
  /** The beginning of the next line has been passed on. */
  let hasBegun = false;
  for await (const chunk of chunks) {
    const isRead = rest.length > 0 || isReading();
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    for (let end = rest.indexOf(LINE_END); isRead && end >= 0; end = rest.indexOf(LINE_END)) {
      yield { bytes: rest.subarray(0, end + 1), isLine: !hasBegun };
      hasBegun = false;
      rest = rest.subarray(end + 1);
    }
    const isKept = isRead && !hasBegun && rest.length <= LARGEST_READ;
    if (isKept || rest.length === 0) continue;
    yield { bytes: rest, isLine: false };
    hasBegun = rest.at(-1) !== LINE_END;
    rest = Buffer.alloc(0);
  }
  if (rest.length > 0) yield { bytes: rest, isLine: false };
}

/** Undefined for bookmarks and errors, which are about no object, and for what is no JSON. */
function subjectOfEvent(line: Buffer, call: ApiCall): Subject | undefined {
  try {
    const { type, object } = JSON.parse(line.toString('utf8')) as WatchEvent;
    if (type === 'BOOKMARK' || type === 'ERROR') return undefined;
    const { name = '', namespace = '' } = object?.metadata ?? {};
    return { ...subjectOf(call), name: String(name), namespace: String(namespace) };
  } catch {
    return undefined;
  }
}

interface WatchEvent {
  type?: string;
  object?: { metadata?: { name?: string; namespace?: string } };
}
