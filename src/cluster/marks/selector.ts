/** The one field of a Service that devloop changes: its selector is removed, or selects the relay. */
import type { Json, Service } from '../api/objects.ts';
import { relayLabels } from '../names.ts';
import { IN_ANNOTATION, type OwnChange, same } from './marks.ts';
import { undoOf } from './undo.ts';

/** A Service without a selector is not taken over, so `before` is always a selector. */
export const SELECTOR: OwnChange = {
  store: IN_ANNOTATION,
  fields: [
    {
      path: ['spec', 'selector'],
      isOwn: ({ before, after }, sessionId) =>
        isSelector(before) &&
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

function isSelector(value: Json | undefined): boolean {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return !Array.isArray(value) && entries.length > 0 && entries.every((entry) => entry.every(isText));
}

/** Roughly what the API server accepts as the key or value of a label. */
function isText(value: Json): boolean {
  return typeof value === 'string' && /^[\w./-]*$/.test(value);
}
