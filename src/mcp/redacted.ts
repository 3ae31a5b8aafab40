import { withoutSecrets } from '../calls/redacted.ts';

const TOO_LONG = '(left out: too long to be searched for secrets)';

/**
 * Without what looks secret. A person's own terminal shows what the controller has printed, and what quotes it, as it is; what an agent
 * reads goes elsewhere. `field`: where the text is; only that of a line of the log is not prose.
 */
export function redacted(text: string, field: string): string {
  if (field === 'line') return withoutSecrets({ line: text }, false, [])?.line ?? TOO_LONG;
  return withoutSecrets({ message: text }, false, [])?.message ?? TOO_LONG;
}
