import { counted, inNamespaces } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import type { ObjectName } from './object-name.ts';
import type { SessionStatus } from './session-status.ts';
import { type Colour, objectText, oneLine, type Paint } from './text.ts';

const STATE_COLOURS: Record<SessionStatus['state'], Colour> = {
  live: 'green',
  stale: 'red',
  unknown: 'yellow',
};

/** The answer of `devloop status`, one block per session. */
export function renderStatus(
  { sessions, searched }: Extract<DevloopEvent, { type: 'status' }>,
  paint: Paint,
): string {
  const { context, namespaces = [], names, incomplete, others = [] } = searched;
  const nobody =
    names === undefined ? 'No operator is taken over' : `Nobody has taken over ${names.join(', ')}`;
  const limit = incomplete ? ', among the objects that your account is allowed to list' : '';
  const held = others.length === 0 ? '' : ` Other sessions hold ${others.map(objectText).join(', ')}.`;
  if (sessions.length === 0)
    return oneLine(`${nobody} ${inNamespaces(namespaces)} (context ${context})${limit}.${held}`);
  return sessions.map((session) => statusBlock(session, paint)).join('\n\n');
}

function statusBlock(status: SessionStatus, paint: Paint): string {
  const { session, holder, since, route, targets, state, health, account, faults, objects } = status;
  const changedRow = (object: ObjectName, index: number): [string, string] => [
    index === 0 ? 'changed' : '',
    objectText(object),
  ];
  const lines: [string, string][] = [
    ['state', paint(STATE_COLOURS[state], state)],
    ['health', oneLine(health)],
    ['holder', oneLine(holder)],
    ['since', oneLine(since || 'unknown')],
    ['route', oneLine(route)],
    ['session', oneLine(session)],
    ['account', oneLine(account ?? (state === 'live' ? "the holder's own" : 'unknown'))],
    ...(faults === undefined
      ? []
      : [['faults', `${counted(faults, 'fault')}; see \`devloop fault\``] as [string, string]]),
    ...objects.map(changedRow),
  ];
  return [
    ...targets.map((target) => paint('bold', objectText(target))),
    ...lines.map(([name, value]) => `  ${name.padEnd(8)} ${value}`),
  ].join('\n');
}
