import type { CallSummary, ReconcileSummary } from './call.ts';
import type { DevloopEvent } from './events.ts';
import type { NoticeCode } from './notices/catalogue.ts';
import type { ObjectName } from './object-name.ts';

/** The warnings about what a controller does to an object again and again. */
const OF_LOOPS = new Set<string>([
  'reconciles.wake-themselves',
  'calls.after-own',
  'calls.unchanged',
  'calls.conflicts',
  'calls.contested',
] satisfies NoticeCode[]);

type Done = Extract<DevloopEvent, { type: 'call' | 'reconcile' }>;

/** What has not gone on for so long is over. */
const OVER_MS = 60_000;
const MOST = 1_000;

/** The loops that the user has been warned about: their rows say nothing new. */
export class Loops {
  #now: () => number;
  /** When each was seen last. */
  #seen = new Map<string, number>();

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** `deployment`: as in `Emit`. */
  observe(event: DevloopEvent, deployment: string | undefined): void {
    // The new program may do without.
    if (event.type === 'controller.started')
      for (const key of this.#seen.keys()) if (key.startsWith(beginOf(deployment))) this.#seen.delete(key);
    if (event.type !== 'warning' || !OF_LOOPS.has(event.code) || this.#seen.size >= MOST) return;
    const { controller, object } = event.values as { controller?: string; object: ObjectName };
    this.#seen.set(keyOf(deployment, controller, object), this.#now());
  }

  /** The loop of which this is a part: of its own object, or because all that it writes is. */
  of(event: Done, deployment: string | undefined): string | undefined {
    if (this.#seen.size === 0) return undefined;
    const [own, written] = subjectsOf(event, deployment);
    if (own !== undefined && this.#goesOn(own)) return own;
    const [first] = written;
    return first !== undefined && written.every((key) => this.#goesOn(key)) ? first : undefined;
  }

  #goesOn(key: string): boolean {
    const now = this.#now();
    const seen = this.#seen.get(key);
    if (seen === undefined) return false;
    const isOver = now - seen > OVER_MS;
    if (isOver) this.#seen.delete(key);
    else this.#seen.set(key, now);
    return !isOver;
  }
}

function subjectsOf(event: Done, deployment: string | undefined): [string | undefined, string[]] {
  const key = (controller: string | undefined, of: Of): string | undefined =>
    of.name === undefined ? undefined : keyOf(deployment, controller, objectOf(of));
  if (event.type === 'call') return [key(undefined, event), []];
  const { controller, kind = controller, namespace, name, calls } = event;
  const written = calls.flatMap((call) => key(controller, call) ?? []);
  return [key(controller, { kind, namespace, name }), written];
}

type Of = Partial<Pick<CallSummary & ReconcileSummary, 'kind' | 'resource' | 'namespace' | 'name'>>;

function objectOf({ kind, resource = '', namespace, name = '' }: Of): ObjectName {
  return { kind: kind ?? resource.split('/')[0]!, ...(namespace ? { namespace } : {}), name };
}

function keyOf(deployment: string | undefined, controller: string | undefined, object: ObjectName): string {
  const { kind, namespace, name } = object;
  return beginOf(deployment) + JSON.stringify([controller, kind, namespace, name]);
}

function beginOf(deployment: string | undefined): string {
  return `${deployment ?? ''} `;
}
