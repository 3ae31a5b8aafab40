import type { PageWarning } from '../page/protocol.ts';
import type { DevloopEvent } from '../report/events.ts';
import type { ObjectName } from '../report/object-name.ts';

/** The newest warnings of a session. One that says the same of the same object again, as with a higher count, replaces the earlier one. */
export interface PageWarnings {
  add(warning: Warning): void;
  /** The oldest first. */
  list(): PageWarning[];
}

type Warning = Extract<DevloopEvent, { type: 'warning' }>;

/** More than anybody reads. */
const MOST = 50;

export function createPageWarnings(now: () => Date): PageWarnings {
  const warnings = new Map<string, PageWarning>();
  return {
    add({ code, values, message, hint }) {
      const object = objectOf(values);
      const key = JSON.stringify([code, object ?? message]);
      warnings.delete(key);
      warnings.set(key, {
        ...{ at: now().toISOString(), code, message },
        ...(hint === undefined ? {} : { hint }),
        ...(object && { object }),
      });
      const [oldest] = warnings.keys();
      if (warnings.size > MOST) warnings.delete(oldest!);
    },
    list: () => [...warnings.values()],
  };
}

function objectOf(values: object): ObjectName | undefined {
  const { object } = values as { object?: Partial<ObjectName> };
  if (typeof object?.kind !== 'string' || typeof object.name !== 'string') return undefined;
  const { kind, namespace, name } = object;
  return { kind, ...(namespace ? { namespace } : {}), name };
}
