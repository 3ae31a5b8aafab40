import { Readable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { NotStarted } from '../cluster/api/pass-on.ts';
import type { Injected, Injector } from '../faults/injector.ts';
import { FAULT_CODES, type Subject } from '../faults/rule.ts';
import type { Refusal } from './answers.ts';
import type { ApiCall } from './api-call.ts';
import type { CallTrace } from './observed.ts';

const LINE_END = 0x0a;
/** A longer event is passed on as it is. */
const LARGEST_READ = 2 ** 20;

interface Met {
  trace: CallTrace | undefined;
  signal: AbortSignal;
  /** Closes the connection without an answer. */
  close(): void;
}

/** Lets a call wait, as the rules that it meets say. Throws NotStarted with the answer of a rule, and another error if it is closed. */
export async function meetFaults(
  faults: Injector | undefined,
  call: ApiCall,
  { trace, signal, close }: Met,
): Promise<void> {
  const injected = faults?.meet(subjectOf(call));
  if (injected === undefined) return;
  trace?.injected(injected.by);
  if (injected.delayMs > 0) await after(injected.delayMs, undefined, { signal });
  if (injected.end?.do === 'answer') throw new NotStarted(refusalOf(injected.end, injected, call));
  if (injected.end === undefined) return;
  close();
  throw new Error('closed by a fault');
}

function subjectOf({ verb, resource }: ApiCall): Subject {
  return { verb, ...resource };
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
