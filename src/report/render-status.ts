import type { SessionStatus } from './events.ts';
import { oneLine } from './layout.ts';
import type { Colour, Paint } from './paint.ts';

const STATE_COLOURS: Record<SessionStatus['state'], Colour> = {
  live: 'green',
  stale: 'red',
  unknown: 'yellow',
};

/** One block a session. */
export function renderStatus(sessions: SessionStatus[], paint: Paint): string {
  if (sessions.length === 0) return 'Nothing is taken over.';
  return sessions.map((session) => block(session, paint)).join('\n\n');
}

function block(status: SessionStatus, paint: Paint): string {
  const { session, holder, since, route, target, state, health, objects } = status;
  const lines: [string, string][] = [
    ['state', paint(STATE_COLOURS[state], state)],
    ['health', oneLine(health)],
    ['holder', oneLine(holder)],
    ['since', oneLine(since || 'unknown')],
    ['route', oneLine(route)],
    ['session', oneLine(session)],
    ...objects.map((object, index): [string, string] => [index === 0 ? 'changed' : '', oneLine(object)]),
  ];
  return [
    ...target.split(', ').map((object) => paint('bold', oneLine(object))),
    ...lines.map(([name, value]) => `  ${name.padEnd(8)} ${value}`),
  ].join('\n');
}
