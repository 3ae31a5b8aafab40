import type { ApiCall, CalledResource } from '../api-proxy/api-call.ts';
import type { ServedCall } from '../api-proxy/observed.ts';
import type { Begun, Ended } from './reconciles.ts';
import type { CallRecord } from './record.ts';

/** What a call takes besides its bodies. */
const EACH_BYTES = 1_000;

/** What waits to be recorded. */
export type Item =
  | { served: ServedCall; build: string | undefined }
  /** `wall`: by the clock that the controller has, too. */
  /** What devloop itself has read before a write. */
  | { read: Buffer; at: number; call: ApiCall }
  | { watched: Buffer; at: number; wall: number; call: ApiCall }
  | { begun: Begun; build: string | undefined }
  | { ended: Ended }
  | { line: string }
  /** A line of the log that says that client-go held a call back. */
  | { throttled: string; at: number }
  /** To look whether something has not happened. */
  | { look: true }
  /** What follows was dropped, until the next item. */
  | { lost: true }
  /** What is done again and again is counted from now on. */
  | { anew: true }
  | { exitedAt: number };

export function passedWith(item: Item): { body?: Buffer | undefined; of?: CalledResource | undefined } {
  if ('watched' in item) return { body: item.watched, of: item.call.resource };
  return 'served' in item ? { body: item.served.answer?.body, of: item.served.call.resource } : {};
}

export function sizeOf(item: Item): number {
  if ('lost' in item) return 0;
  if ('watched' in item) return item.watched.length + EACH_BYTES;
  if ('read' in item) return item.read.length + EACH_BYTES;
  if ('line' in item) return item.line.length + EACH_BYTES;
  if (!('served' in item)) return EACH_BYTES;
  return (item.served.answer?.body?.length ?? 0) + EACH_BYTES;
}

/** What an idle controller writes again and again. */
export const HEARTBEATS = new Set(['coordination.k8s.io/leases', 'events.k8s.io/events', '/events']);

/** Whether nobody counts the call, unless it fails. */
export function isHeartbeat({ verb, code = 500, group, resource }: CallRecord): boolean {
  const isOfMany = verb === 'list' || verb === 'watch';
  return code < 400 && !isOfMany && HEARTBEATS.has(`${group}/${resource}`);
}
