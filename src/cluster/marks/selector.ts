/** The one field of a Service that devloop changes: its selector is removed, or selects the relay. */
import type { Json, Service } from '../api/objects.ts';
import { relayLabels } from '../names.ts';
import { IN_ANNOTATION, type OwnChange, same, sessionOf } from './marks.ts';
import { undoOf } from './undo.ts';

/** In a Service that is adopted without a selector, nothing changes: the mark only says whose it is. */
export const SELECTOR: OwnChange = {
  store: IN_ANNOTATION,
  fields: [
    {
      path: ['spec', 'selector'],
      isOwn: ({ before, after }, sessionId) =>
        before === undefined
          ? after === undefined
          : isSelector(before) &&
            (after === undefined || (isSelector(after) && same(after, relayLabels(sessionId)))),
    },
  ],
};

/** The selector that a Service has, or had before a session changed it. */
export function originalSelector(service: Service): Record<string, string> {
  const changed = undoOf(service, SELECTOR);
  const before = 'fault' in changed ? undefined : changed[0]?.before;
  return (before ?? service.spec.selector ?? {}) as Record<string, string>;
}

/** Whether the Service has no selector of its own, now or before a session: then somebody else writes its endpoints. */
export function isSelectorless(service: Service): boolean {
  if (service.spec.type === 'ExternalName') return false;
  if (sessionOf(service) === undefined) return same(service.spec.selector, undefined);
  const changed = undoOf(service, SELECTOR);
  return !('fault' in changed) && changed[0]?.before === undefined;
}

function isSelector(value: Json | undefined): boolean {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return !Array.isArray(value) && entries.length > 0 && entries.every((entry) => entry.every(isText));
}

/** Roughly what the API server accepts as the key or value of a label. */
function isText(value: Json): boolean {
  return typeof value === 'string' && /^[\w./-]*$/.test(value);
}
