import type { PageAction } from '../../report/actions.ts';
import type { ObjectName } from '../../report/object-name.ts';
import {
  type CallDetail,
  type ExportedReview,
  type ExportFormat,
  KEY_HEADER,
  type ObjectTimeline,
  type PageChange,
  type PageFaultChange,
  type PageMessages,
  type ReconcileDetail,
  type ReplayedReview,
  type ReviewDetail,
} from '../protocol.ts';

/** Where the key is stored for this origin. The path keeps it apart from that of an earlier session on the same port. */
const KEY = `devloop ${location.pathname}`;

/** A refusal by the server, in its words. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Exchanges the token in the link for a cookie and a key, and removes it from the address bar. Without a token, an earlier cookie may still
 * be valid.
 */
export async function logIn(): Promise<void> {
  const token = location.hash.slice(1);
  if (token === '') return;
  history.replaceState(null, '', location.pathname + location.search);
  const { key } = await call<{ key: string }>('login', { method: 'POST', headers: { [KEY_HEADER]: token } });
  localStorage.setItem(KEY, key);
}

export function hasKey(): boolean {
  return localStorage.getItem(KEY) !== null;
}

export async function act(action: PageAction): Promise<void> {
  await call(action, { method: 'POST', headers: keyHeader() });
}

function keyHeader(): Record<string, string> {
  return { [KEY_HEADER]: localStorage.getItem(KEY) ?? '' };
}

export function readReview(id: string): Promise<ReviewDetail> {
  return call(`reviews/${id}`);
}

export function replayReview(id: string): Promise<ReplayedReview> {
  return call(`reviews/${id}/replay`, { method: 'POST', headers: keyHeader() });
}

export function exportReview(id: string, format: ExportFormat): Promise<ExportedReview> {
  return call(`reviews/${id}/${format}`);
}

export function readCall(id: string): Promise<CallDetail> {
  return call(`calls/${id}`);
}

export function readReconcile(id: string): Promise<ReconcileDetail> {
  return call(`reconciles/${id}`);
}

/** A call or a reconcile as it is recorded. */
export function exportRecorded(id: string): Promise<ExportedReview> {
  return call(`${id.startsWith('c-') ? 'calls' : 'reconciles'}/${id}/json`);
}

export function readTimeline({ kind, namespace = '', name }: ObjectName): Promise<ObjectTimeline> {
  return call(`timeline/${[kind, namespace, name].map(encodeURIComponent).join('/')}`);
}

export async function changeFaults(change: PageFaultChange): Promise<void> {
  await call('faults', { method: 'POST', headers: keyHeader(), body: JSON.stringify(change) });
}

export function readChanges(): Promise<PageChange[]> {
  return call('changes');
}

async function call<T>(path: string, options: RequestInit = {}): Promise<T> {
  const response = await fetch(`api/${path}`, { ...options, credentials: 'same-origin' }).catch(() => {
    throw new Error('The session has ended, or cannot be reached.');
  });
  if (!response.ok) throw new Refused(response.status, (await response.text()).trim());
  return (await response.json()) as T;
}

export type Listeners = {
  [Type in Exclude<keyof PageMessages, 'ended'>]: (data: PageMessages[Type]) => void;
} & {
  /** `lost`: the browser keeps trying. `ended`: the session has said that it ends. `refused`: the server refused the page. */
  connection(state: 'open' | 'lost' | 'ended' | 'refused'): void;
};

/** Follows the session until the page is left. After a break, the browser continues after what it got last. */
export function followSession({ connection, ...listeners }: Listeners): void {
  const source = new EventSource('api/events');
  source.addEventListener('open', () => connection('open'));
  source.addEventListener('error', () =>
    connection(source.readyState === EventSource.CLOSED ? 'refused' : 'lost'),
  );
  source.addEventListener('ended', () => {
    source.close();
    connection('ended');
  });
  for (const [type, listener] of Object.entries(listeners) as [string, (data: unknown) => void][])
    source.addEventListener(type, ({ data }) => listener(JSON.parse(data)));
}
