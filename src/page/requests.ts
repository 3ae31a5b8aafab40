import type { IncomingMessage } from 'node:http';
import { DevloopError } from '../errors.ts';
import type { ObjectName } from '../report/object-name.ts';
import type { PageFaultChange } from './protocol.ts';

/** More than all rules that a session can have. */
const LARGEST_BODY = 64 * 1024;

/** What a request wants to change in the faults. Throws a DevloopError if it is nothing of that kind. */
export async function faultChangeIn(request: IncomingMessage): Promise<PageFaultChange> {
  const { add, clear } = (parsed(await bodyOf(request)) ?? {}) as Record<string, unknown>;
  if ((add !== undefined && !isTexts(add)) || (clear !== undefined && !isTexts(clear)))
    throw unreadable('expected lists of texts');
  return { ...(add && { add }), ...(clear && { clear }) };
}

/** The object of which a path asks for the timeline: `timeline/Deployment/default/web`, or `timeline/Node//one`. */
export function objectIn(path: string): ObjectName | undefined {
  const [what, ...parts] = path.split('/');
  if (what !== 'timeline' || parts.length !== 3) return undefined;
  try {
    const [kind = '', namespace = '', name = ''] = parts.map(decodeURIComponent);
    if (kind === '' || name === '') return undefined;
    return { kind, ...(namespace === '' ? {} : { namespace }), name };
  } catch {
    return undefined;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > LARGEST_BODY) throw unreadable('it is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable('it is not JSON');
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function unreadable(why: string): DevloopError {
  return new DevloopError('usage.invalid', `The session could not handle the request: ${why}.`);
}
