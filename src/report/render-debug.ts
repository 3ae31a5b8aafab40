import type { DevloopEvent } from './events.ts';
import { oneLine, type Paint, paintedRow, row } from './text.ts';

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
        oneLine(`${event.editor} has disconnected; devloop removed its breakpoints, and the controller runs`),
      );
    case 'debug.stopped':
      return paintedRow(paint, 'yellow', 'stopped', oneLine(`${placeOf(event)}; reviews wait`));
    case 'debug.running':
      return row('running', 'the controller runs again');
    default:
      return event satisfies never;
  }
}

function placeOf({ file, line, function: name }: Extract<DebugEvent, { type: 'debug.stopped' }>): string {
  if (file === undefined) return 'in the debugger';
  const at = `at ${file}:${line}`;
  return name === undefined ? at : `${at} in ${name}`;
}
