import { delimiter } from 'node:path';
import { firstOf, shellWord } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import { duration, indented, objectText, oneLine, type Paint, paintedRow, row } from './text.ts';
import { wrapLine } from './wrap.ts';

type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

export type ControllerEvent = Extract<
  DevloopEvent,
  { type: `build.${string}` | `controller.${string}` | `debug.${string}` | `leader.${string}` }
>;

/** The lines of the controller: how it is built and run, and where a debugger has stopped it. */
export function renderController(event: ControllerEvent, paint: Paint, columns?: number): string {
  switch (event.type) {
    case 'build.started':
    case 'build.done':
    case 'build.failed':
    case 'build.reverted':
      return buildLine(event, paint);
    case 'controller.planned':
      return plannedLines(event);
    case 'controller.kubeconfig':
      return row('run it with', `KUBECONFIG=${shellWord(event.files.join(delimiter))}`);
    case 'controller.identity':
      return row('identity', identityText(event));
    case 'controller.started':
      return row('started', `pid ${event.pid}: ${commandLine(event.command)}`);
    case 'controller.restarting':
      return row('restarting', because(event.reason));
    case 'controller.ready':
      return row('answering', `pid ${event.pid}, after ${duration(event.ms)}`);
    case 'controller.silent':
      return row('silent', `pid ${event.pid} has not answered within ${duration(event.ms)}`);
    case 'controller.down':
      return row('down', oneLine(event.why));
    case 'controller.exited':
      return event.expected
        ? row('stopped', `pid ${event.pid} ${howItExited(event)}`)
        : paintedRow(paint, 'red', 'exited', `pid ${event.pid} ${howItExited(event)}, unexpectedly`);
    case 'controller.replaced':
      return row(
        'replaced',
        `the new build serves after ${duration(event.ms)}${event.heldMs === undefined ? '' : `; reviews were held for ${duration(event.heldMs)}`}`,
      );
    case 'leader.waiting':
      return row('waiting', waitsFor(event));
    case 'leader.elected':
      return row(
        'reconciling',
        `the controller leads after ${duration(event.ms)} (${objectText(event.lease)})`,
      );
    case 'leader.released':
      return row('freed', `${objectText(event.lease)}, whose holder ${oneLine(event.holder)} has ended`);
    case 'controller.output':
      return outputLines(event.line, paint, columns);
    default:
      return debugLine(event, paint);
  }
}

function waitsFor({ lease, holder }: Of<'leader.waiting'>): string {
  const held = holder === undefined ? '' : `, which ${oneLine(holder)} holds`;
  return `the controller does not reconcile until it leads: it waits for ${objectText(lease)}${held}`;
}

function identityText({ how, account = '' }: Of<'controller.identity'>): string {
  return `the controller works ${how === 'user' ? 'with your account' : `as ${oneLine(account)} (${how})`}`;
}

type BuildEvent = Extract<DevloopEvent, { type: `build.${string}` }>;

function plannedLines({
  generate,
  build,
  command,
  cwd,
  account,
}: Extract<ControllerEvent, { type: 'controller.planned' }>): string {
  return [
    ...[generate, build].flatMap((one) => (one ? [row('would build', commandLine(one))] : [])),
    row('would run', commandLine(command)),
    // If the main package is in another module, the commands work only in that module's directory.
    row('in', cwd),
    row('identity', oneLine(account ?? 'your account')),
  ].join('\n');
}

function buildLine(event: BuildEvent, paint: Paint): string {
  switch (event.type) {
    case 'build.started':
      return row('building', because(event.reason));
    case 'build.done':
      return row('built', `in ${duration(event.ms)}`);
    case 'build.failed':
      return `${paintedRow(paint, 'red', 'build failed', `after ${duration(event.ms)}`)}\n  ${indented(event.output, 2)}`;
    case 'build.reverted':
      return paintedRow(paint, 'red', 'old build', 'the last build that worked is started again');
    default:
      return event satisfies never;
  }
}

/** The command as a shell takes it, so that it can be copied. */
function commandLine(command: string[]): string {
  return oneLine(command.map(shellWord).join(' '));
}

/** Without files, somebody asked for it. */
function because(files: string[]): string {
  if (files.length === 0) return 'the controller';
  return oneLine(`after a change to ${firstOf(files)}`);
}

function howItExited({ code, signal }: Of<'controller.exited'>): string {
  return signal === null ? `with exit code ${code ?? 'unknown'}` : `on ${signal}`;
}

/** The log stays behind its gutter, in the background; what has colours of its own keeps them. */
function outputLines(text: string, paint: Paint, columns?: number): string {
  const isColoured = text.includes('\x1b');
  // A terminal would make a tab up to eight columns wide.
  const shown = columns === undefined ? text : text.replaceAll('\t', '  ');
  return shown
    .split('\n')
    .flatMap((line) => wrapLine(`│ ${line}`, '│   ', columns ?? Number.POSITIVE_INFINITY, !isColoured))
    .map((row) => (isColoured ? `${paint('dim', '│')}${row.slice(1)}\x1b[0m` : paint('dim', row)))
    .join('\n');
}

type DebugEvent = Extract<DevloopEvent, { type: `debug.${string}` }>;

function debugLine(event: DebugEvent, paint: Paint): string {
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
