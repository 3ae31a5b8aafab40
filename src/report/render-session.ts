import { counted, writerText } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import { type ControllerEvent, renderController } from './render-controller.ts';
import { duration, objectText, oneLine, type Paint, paintedRow, row } from './text.ts';

type SessionEvent =
  | Extract<
      DevloopEvent,
      { type: `route.${string}` | `session.${string}` | `guard.${string}` | `manager.${string}` }
    >
  | ControllerEvent;

/** The lines of a session's progress: its route, its guard, its controller, its beginning and its end. */
export function renderSession(event: SessionEvent, paint: Paint, columns?: number): string {
  switch (event.type) {
    case 'route.planned':
      return row(event.position === 1 ? 'route' : 'else', oneLine(`${event.route}: ${event.detail}`));
    case 'route.verified': {
      const how = `${event.route}, ${duration(event.latencyMs)}`;
      return row('verified', oneLine(`${event.service}: kube-apiserver reaches ${event.address} (${how})`));
    }
    case 'route.lost':
      return paintedRow(paint, 'yellow', 'route lost', oneLine(`${event.route}: ${event.cause}`));
    case 'route.reconnected':
      return row('reconnected', oneLine(`${event.route} via ${event.via} after ${duration(event.ms)}`));
    case 'guard.overwritten': {
      const what = `${event.field} ${event.from} -> ${event.to}`;
      return paintedRow(
        paint,
        'yellow',
        'overwritten',
        oneLine(`${objectText(event.object)}  ${what} by ${writerText(event.by)}`),
      );
    }
    case 'guard.deleted':
      return paintedRow(paint, 'yellow', 'deleted', oneLine(`${objectText(event.object)}  by somebody else`));
    case 'guard.followed': {
      const next = event.restart ? 'The controller gets these changes at its next restart.' : '';
      const lines = [
        `${objectText(event.object)}  a new version by ${writerText(event.by)}`,
        ...event.changes,
        next,
      ];
      return row('followed', lines.filter(Boolean).map(oneLine).join('\n'));
    }
    case 'session.started':
      return row('session', oneLine(event.session));
    case 'session.ready':
      return paintedRow(paint, 'green', 'ready', readyText(event));
    case 'manager.gone':
      return row('gone', 'the Pods of the in-cluster manager; this machine answers all reviews');
    case 'session.serving':
      return paintedRow(paint, 'green', 'serving', oneLine(servingText(event)));
    case 'session.stopping':
      return row('stopping', `${event.reason}; restoring everything`);
    case 'session.restored':
      return paintedRow(paint, 'green', 'restored', restoredText(event));
    default:
      return renderController(event, paint, columns);
  }
}

function readyText({
  ms,
  alone,
  embedded,
  detached,
  oldPods = 0,
}: Extract<DevloopEvent, { type: 'session.ready' }>): string {
  const leave = detached ? 'it runs in the background' : LEAVE;
  if (embedded) return `the controller runs here; ${detached ? leave : 'press Ctrl-C to end'}`;
  if (alone) return `${ALONE}; ${leave}`;
  const old = oldPods === 0 ? '' : `; ${counted(oldPods, 'old Pod')} may still answer some reviews`;
  return `taken over in ${duration(ms)}${old}; ${leave}`;
}

function servingText({ session, build, ms }: Extract<DevloopEvent, { type: 'session.serving' }>): string {
  const what = build === undefined ? 'the newest code' : `build ${build}`;
  return `${what} in session ${session}, after ${duration(ms)}`;
}

const ALONE = 'nothing in the cluster matches, so nothing is taken over; the controller runs here';

const LEAVE = 'press Ctrl-C to restore everything';

function restoredText(event: Extract<DevloopEvent, { type: 'session.restored' }>): string {
  const { session, changes, ms, endMs = 0 } = event;
  if (changes === 0) return oneLine(`session ${session} had changed nothing`);
  // A shorter time is not noticed, so it is not mentioned.
  const more = endMs < 1_000 ? '' : `; ending what ran on this machine took another ${duration(endMs)}`;
  return `${counted(changes, 'change')} in ${duration(ms)}${more}`;
}
