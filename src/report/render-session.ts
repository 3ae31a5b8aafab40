import { counted } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import { duration, oneLine, type Paint, paintedRow, row } from './text.ts';

export function restoredText(event: Extract<DevloopEvent, { type: 'session.restored' }>): string {
  const { session, changes, ms, endMs = 0 } = event;
  if (changes === 0) return oneLine(`session ${session} had changed nothing`);
  // A shorter time is not noticed, so it is not mentioned.
  const more = endMs < 1_000 ? '' : `; ending what ran on this machine took another ${duration(endMs)}`;
  return `${counted(changes, 'change')} in ${duration(ms)}${more}`;
}

type DebugEvent = Extract<DevloopEvent, { type: `debug.${string}` }>;

export function debugLine(event: DebugEvent, paint: Paint): string {
  switch (event.type) {
    case 'debug.listening':
      return row('debugger', `editors connect to 127.0.0.1:${event.port}`);
    case 'debug.attached':
      return row('attached', oneLine(`${event.editor} has set its breakpoints`));
    case 'debug.left':
      return row(
        'detached',
        oneLine(
          `${event.editor} has disconnected; devloop removed its breakpoints, and the controller keeps running`,
        ),
      );
    case 'debug.stopped':
      return paintedRow(paint, 'yellow', 'stopped', oneLine(`${placeOf(event)}; reviews wait`));
    case 'debug.stepped':
      return row('stepped', oneLine(placeOf(event)));
    case 'debug.running':
      return row('running', 'the controller is running again');
    default:
      return event satisfies never;
  }
}

function placeOf({
  file,
  line,
  function: name,
}: Extract<DebugEvent, { type: 'debug.stopped' | 'debug.stepped' }>): string {
  if (file === undefined) return 'in the debugger';
  const at = `at ${file}:${line}`;
  return name === undefined ? at : `${at} in ${name}`;
}
