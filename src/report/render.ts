import { counted, inNamespaces, shellWord, writerText } from '../phrases.ts';
import type { ChangeAction, DevloopEvent, ObjectName, SessionStatus, Verdict } from './events.ts';
import {
  comparedReviews,
  lateLine,
  listedReview,
  liveReview,
  replayedReview,
  shownReview,
  waitingReview,
} from './render-review.ts';
import { debugLine, restoredText } from './render-session.ts';
import { type Colour, duration, indented, objectText, oneLine, type Paint, paintedRow, row } from './text.ts';

export type PrintedEvent = Exclude<DevloopEvent, { type: 'waiting' }>;
type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

/** The lines of an event whose texts are safe already. */
export function render(event: PrintedEvent, paint: Paint): string {
  switch (event.type) {
    case 'discovered':
      return row(event.what, `${oneLine(event.value)}  ${paint('dim', `(${oneLine(event.source)})`)}`);
    case 'warning':
      return withHint(`${paint('yellow', 'warning:')} ${indented(event.message, 2)}`, event.hint, paint);
    case 'note':
      return row('note', event.message);
    case 'change':
      return row(
        verbOf(event),
        `${event.route ? '  ' : ''}${objectText(event.object)}  ${oneLine(event.detail)}${fieldsText(event)}`,
      );
    case 'certificate.written':
      return row('certificate', `${event.directory}  ${paint('dim', certificateFacts(event))}`);
    case 'finding':
      return renderFinding(event, paint);
    case 'review':
      return liveReview(event, paint);
    case 'reviews.held':
      return paintedRow(paint, 'yellow', 'held', HELD);
    case 'reviews.released':
      return row('released', waitedText(event.waiting));
    case 'files.ignored':
      return row('ignoring', 'changed files, until you follow them again');
    case 'files.followed':
      return row('following', 'changed files again');
    case 'page.served':
      return pageText(event, paint);
    case 'review.late':
      return lateLine(event.id, event.late, paint);
    case 'reviews.listed':
      return listedReview(event.review, paint);
    case 'reviews.waiting':
      return waitingReview(event.review, paint);
    case 'reviews.set':
      return row(event.name, oneLine(`${counted(event.reviews, 'review')}  ${event.file}`));
    case 'reviews.replayed':
      return replayedReview(event, paint);
    case 'reviews.compared':
      return comparedReviews(event, paint);
    case 'reviews.shown':
      return shownReview(event.review, event.sections, paint);
    case 'status':
      return renderStatus(event, paint);
    case 'error':
      return withHint(`${paint('red', 'error:')} ${indented(event.message, 2)}`, event.hint, paint);
    default:
      return renderProgress(event, paint);
  }
}

const waitedText = (count: number): string =>
  count === 0 ? 'no review was waiting' : `${counted(count, 'review')} that had waited`;
const LEAVE = 'press Ctrl-C to restore everything';
const HELD = 'reviews wait, each within its timeout; `devloop release` forwards them';
/** The text about the page. The address stays in one piece, so that it can be copied. */
function pageText({ url, opened, tunnel }: Of<'page.served'>, paint: Paint): string {
  if (opened) return row('page', `${url} (opened in your browser)`);
  const hint = tunnel === undefined ? `open ${url}` : `on your own machine: ${tunnel}\nthen open ${url}`;
  return withHint(row('page', 'no browser could be opened on this machine'), hint, paint);
}

type ProgressEvent = Extract<
  PrintedEvent,
  {
    type:
      | `build.${string}`
      | `controller.${string}`
      | `route.${string}`
      | `session.${string}`
      | `debug.${string}`
      | `guard.${string}`;
  }
>;

function renderProgress(event: ProgressEvent, paint: Paint): string {
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
      return paintedRow(paint, 'green', 'ready', `taken over in ${duration(event.ms)}; ${LEAVE}`);
    case 'session.stopping':
      return row('stopping', `${event.reason}; restoring everything`);
    case 'session.restored':
      return paintedRow(paint, 'green', 'restored', restoredText(event));
    default:
      return renderController(event, paint);
  }
}

type ControllerEvent = Extract<
  ProgressEvent,
  { type: `build.${string}` | `controller.${string}` | `debug.${string}` }
>;

function renderController(event: ControllerEvent, paint: Paint): string {
  switch (event.type) {
    case 'build.started':
      return row('building', event.reason.length === 0 ? 'the controller' : `after ${changed(event.reason)}`);
    case 'build.done':
      return row('built', `in ${duration(event.ms)}`);
    case 'build.failed':
      return `${paintedRow(paint, 'red', 'build failed', `after ${duration(event.ms)}`)}\n  ${indented(event.output, 2)}`;
    case 'controller.planned':
      return [
        ...(event.build ? [row('would build', commandLine(event.build))] : []),
        row('would run', commandLine(event.command)),
        // If the main package is in another module, the commands work only in that module's directory.
        row('in', event.cwd),
      ].join('\n');
    case 'controller.started':
      return row('started', `pid ${event.pid}: ${commandLine(event.command)}`);
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
        `the new build serves after ${duration(event.ms)}; reviews were held for ${duration(event.heldMs)}`,
      );
    case 'controller.output':
      return outputLines(event.line, paint);
    default:
      return debugLine(event, paint);
  }
}

/** The command as a shell takes it, so that it can be copied. */
function commandLine(command: string[]): string {
  return oneLine(command.map(shellWord).join(' '));
}

const DONE: Record<ChangeAction, string> = {
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  restore: 'restored',
};

function verbOf({ action, dryRun }: Of<'change'>): string {
  return dryRun ? `would ${action}` : DONE[action];
}

/** The changed fields of an object, one line each. */
function fieldsText({ fields = [] }: Of<'change'>): string {
  const text = (value: unknown): string => (value === null ? 'absent' : JSON.stringify(value));
  return fields
    .map(({ path, now, after }) => `\n  ${oneLine(`${path}: ${text(now)} -> ${text(after)}`)}`)
    .join('');
}

function certificateFacts({ notAfter, source }: Of<'certificate.written'>): string {
  return oneLine(`(${source}, valid until ${notAfter.slice(0, 'yyyy-mm-dd'.length)})`);
}

function changed(files: string[]): string {
  const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
  return oneLine(`a change to ${files.slice(0, 3).join(', ')}${more}`);
}

function howItExited({ code, signal }: Of<'controller.exited'>): string {
  return signal === null ? `with exit code ${code ?? 'unknown'}` : `on ${signal}`;
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

const VERDICT_COLOURS: Record<Verdict, Colour> = {
  ok: 'green',
  warn: 'yellow',
  fail: 'red',
  info: 'dim',
  unknown: 'dim',
};
const VERDICT_COLUMN = 8;
const CHECK_COLUMN = 16;
const TEXT_AT = VERDICT_COLUMN + CHECK_COLUMN + 2;

/** Verdict, check and answer in columns; proof and hint below the answer. The verdict is a word, so it can be read without colours. */
function renderFinding(finding: Of<'finding'>, paint: Paint): string {
  const { verdict, check, answer, proof, latencyMs, hint } = finding;
  const took = latencyMs === undefined ? '' : `  ${paint('dim', `(${duration(latencyMs)})`)}`;
  const mark = paint(VERDICT_COLOURS[verdict], verdict.padEnd(VERDICT_COLUMN));
  const below = ' '.repeat(TEXT_AT);
  return [
    `${mark} ${check.padEnd(CHECK_COLUMN)} ${indented(answer, TEXT_AT)}${took}`,
    ...(proof === undefined ? [] : [`${below}${paint('dim', indented(proof.join('\n'), TEXT_AT))}`]),
    ...(hint === undefined ? [] : [`${below}${paint('bold', '→ next:')} ${indented(hint, TEXT_AT + 2)}`]),
  ].join('\n');
}

const STATE_COLOURS: Record<SessionStatus['state'], Colour> = {
  live: 'green',
  stale: 'red',
  unknown: 'yellow',
};

/** The answer of `devloop status`, one block per session. */
function renderStatus({ sessions, searched }: Of<'status'>, paint: Paint): string {
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
  const { session, holder, since, route, targets, state, health, objects } = status;
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
    ...objects.map(changedRow),
  ];
  return [
    ...targets.map((target) => paint('bold', objectText(target))),
    ...lines.map(([name, value]) => `  ${name.padEnd(8)} ${value}`),
  ].join('\n');
}
