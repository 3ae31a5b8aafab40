import type { PageAction } from '../../report/actions.ts';
import {
  type ExportedReview,
  type ExportFormat,
  KEY_HEADER,
  type PageChange,
  type PageMessages,
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

export function readChanges(): Promise<PageChange[]> {
  return call('changes');
}

async function call<T>(path: string, options: RequestInit = {}): Promise<T> {
  const response = await fetch(`api/${path}`, { ...options, credentials: 'same-origin' });
  if (!response.ok) throw new Refused(response.status, (await response.text()).trim());
  return (await response.json()) as T;
}

export interface Listeners {
  onStatus(status: PageMessages['status']): void;
  onReviews(reviews: PageMessages['reviews']): void;
  onLate(late: PageMessages['late']): void;
  onWaiting(waiting: PageMessages['waiting']): void;
  /** `lost`: the browser keeps trying. `refused`: the server refused the page. */
  onConnection(state: 'open' | 'lost' | 'refused'): void;
}

/** Follows the session until the page is left. After a break, the browser continues after the last review that it got. */
export function followSession({ onStatus, onReviews, onLate, onWaiting, onConnection }: Listeners): void {
  const source = new EventSource('api/events');
  source.addEventListener('open', () => onConnection('open'));
  source.addEventListener('error', () =>
    onConnection(source.readyState === EventSource.CLOSED ? 'refused' : 'lost'),
  );
  source.addEventListener('status', ({ data }) => onStatus(JSON.parse(data)));
  source.addEventListener('reviews', ({ data }) => onReviews(JSON.parse(data)));
  source.addEventListener('late', ({ data }) => onLate(JSON.parse(data)));
  source.addEventListener('waiting', ({ data }) => onWaiting(JSON.parse(data)));
}
