import type { Emit } from '../../report/events.ts';

/** For work that discovers again what was already reported, or that reports what it finds in another way. */
export function withoutDiscoveries(emit: Emit): Emit {
  return (event) => (event.type === 'discovered' ? undefined : emit(event));
}
