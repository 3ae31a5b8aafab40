import type { PageWarning } from '../../page/protocol.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import type { ObjectName } from '../../report/object-name.ts';

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

interface Printing {
  emit: Emit;
  warnings?: PageWarnings;
}

/** Keeps each warning that is printed, also those before there is a page. */
export function keepingWarnings<T extends Printing>(io: T): T & { warnings: PageWarnings } {
  const { emit, warnings = createPageWarnings(() => new Date()) } = io;
  if (io.warnings) return { ...io, warnings };
  return {
    ...io,
    warnings,
    emit(event, ...rest) {
      if (event.type === 'warning') warnings.add(event);
      emit(event, ...rest);
    },
  };
}

function objectOf(values: object): ObjectName | undefined {
  const { object } = values as { object?: Partial<ObjectName> };
  if (typeof object?.kind !== 'string' || typeof object.name !== 'string') return undefined;
  const { kind, namespace, name } = object;
  return { kind, ...(namespace ? { namespace } : {}), name };
}
