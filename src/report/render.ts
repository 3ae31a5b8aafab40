import type { ChangeAction, DevloopEvent } from './events.ts';
import { counted, duration, indented, oneLine, row } from './layout.ts';
import type { Paint } from './paint.ts';

export type LineEvent = Exclude<DevloopEvent, { type: 'status' | 'finding' | 'waiting' }>;
type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

/** The lines of an event, whose texts are safe already. */
export function render(event: LineEvent, paint: Paint): string {
  switch (event.type) {
    case 'discovered':
      return row(labelOf(event), `${oneLine(event.value)}  ${paint('dim', `(${oneLine(event.source)})`)}`);
    case 'warning':
      return withHint(`${paint('yellow', 'warning:')} ${indented(event.message, 2)}`, event.hint, paint);
    case 'note':
      return row('note', event.message);
    case 'change':
      return row(verbOf(event), oneLine(`${event.route ? '  ' : ''}${event.object}  ${event.detail}`));
    case 'route.planned':
      return row(event.position === 1 ? 'route' : 'else', oneLine(`${event.route}: ${event.detail}`));
    case 'route.proven':
      return row(
        'proven',
        oneLine(`${event.service} reaches ${event.address} (${event.route}) in ${duration(event.latencyMs)}`),
      );
    case 'route.lost':
      return row(paint('yellow', 'route lost'.padEnd(13)), oneLine(`${event.route}: ${event.cause}`));
    case 'route.mended':
      return row('route back', oneLine(`${event.route} by ${event.via} after ${duration(event.ms)}`));
    case 'certificate.written':
      return row('certificate', `${event.directory}  ${paint('dim', certificateFacts(event))}`);
    case 'error':
      return withHint(`${paint('red', 'error:')} ${indented(event.message, 2)}`, event.hint, paint);
    case 'session.started':
      return row('session', oneLine(event.session));
    case 'session.ready':
      return row(
        paint('green', 'ready'.padEnd(13)),
        `taken over in ${duration(event.ms)}; Ctrl-C puts everything back`,
      );
    case 'session.stopping':
      return row('stopping', `${event.reason}; everything is being put back`);
    case 'session.restored':
      return row(
        paint('green', 'restored'.padEnd(13)),
        event.changes === 0
          ? 'nothing had been changed'
          : `${counted(event.changes, 'change')} put back in ${duration(event.ms)}`,
      );
    default:
      return renderController(event, paint);
  }
}

type ControllerEvent = Extract<LineEvent, { type: `build.${string}` | `controller.${string}` }>;

function renderController(event: ControllerEvent, paint: Paint): string {
  switch (event.type) {
    case 'build.started':
      return row(
        'building',
        event.reason.length === 0 ? 'the controller' : `because of ${reasons(event.reason)}`,
      );
    case 'build.done':
      return row('built', `in ${duration(event.ms)}`);
    case 'build.failed':
      return `${row(paint('red', 'build failed'.padEnd(13)), `after ${duration(event.ms)}`)}\n  ${indented(event.output, 2)}`;
    case 'controller.planned':
      return [
        ...(event.build ? [row('would build', oneLine(event.build.join(' ')))] : []),
        row('would run', oneLine(event.command.join(' '))),
      ].join('\n');
    case 'controller.started':
      return row('started', oneLine(`pid ${event.pid}: ${event.command.join(' ')}`));
    case 'controller.ready':
      return row('answering', `pid ${event.pid}, after ${duration(event.ms)}`);
    case 'controller.exited':
      return row(
        event.expected ? 'ended' : paint('red', 'ended'.padEnd(13)),
        `pid ${event.pid} ${howItEnded(event)}`,
      );
    case 'controller.replaced':
      return row(
        'replaced',
        `new build serves after ${duration(event.ms)}; reviews were held for ${duration(event.heldMs)}`,
      );
    case 'controller.output':
      return outputLines(event.line, paint);
    default:
      return event satisfies never;
  }
}

function labelOf({ what }: Of<'discovered'>): string {
  return what === 'certificate directory' ? 'certificates' : what;
}

const DONE: Record<ChangeAction, string> = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  restore: 'restored',
  keep: 'kept',
};

function verbOf({ action, dryRun }: Of<'change'>): string {
  return dryRun ? `would ${action}` : DONE[action];
}

function certificateFacts({ notAfter, source }: Of<'certificate.written'>): string {
  return oneLine(`(${source}, until ${notAfter.slice(0, 'yyyy-mm-dd'.length)})`);
}

function reasons(files: string[]): string {
  const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
  return oneLine(`${files.slice(0, 3).join(', ')}${more}`);
}

function howItEnded({ code, signal, expected }: Of<'controller.exited'>): string {
  const how = signal === null ? `with exit code ${code ?? 'unknown'}` : `by ${signal}`;
  return expected ? how : `${how}, by itself`;
}

function outputLines(text: string, paint: Paint): string {
  return text
    .split('\n')
    .map((line) => `${paint('dim', '│')} ${line}${line.includes('\x1b') ? '\x1b[0m' : ''}`)
    .join('\n');
}

function withHint(text: string, hint: string | undefined, paint: Paint): string {
  return hint === undefined ? text : `${text}\n${paint('bold', '→ next:')} ${indented(hint, 2)}`;
}
