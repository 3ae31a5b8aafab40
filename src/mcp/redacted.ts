import { withoutSecrets } from '../calls/redacted.ts';
import type { DevloopEvent } from '../report/events.ts';

const TOO_LONG = '(left out: too long to be searched for secrets)';

/**
 * Without what looks secret in what the controller has printed, and in what quotes it. A person's own terminal shows it as it is; what an agent
 * reads goes elsewhere. Reviews and calls are recorded without secrets.
 */
export function redacted(event: DevloopEvent): DevloopEvent {
  if (event.type === 'output.line') {
    const { line } = withoutSecrets({ line: event.line }, false, []) ?? { line: TOO_LONG };
    return { ...event, line };
  }
  if (event.type === 'error') return { ...event, message: prose(event.message) };
  if (event.type !== 'warning') return event;
  const { values } = event;
  const quoted = 'logged' in values ? { logged: prose(String(values.logged)) } : {};
  return { ...event, message: prose(event.message), values: { ...values, ...quoted } };
}

function prose(message: string): string {
  return withoutSecrets({ message }, false, [])?.message ?? TOO_LONG;
}
