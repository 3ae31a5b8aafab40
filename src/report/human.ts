import { styleText } from 'node:util';
import { createBottomLine } from './bottom-line.ts';
import { createCounts } from './counts.ts';
import type { DevloopEvent, Emit } from './events.ts';
import { Loops } from './loops.ts';
import { type PrintedEvent, render } from './render.ts';
import { countingOf, countText, isRepeated, type Repeated } from './repeated.ts';
import type { SessionState } from './session-state.ts';
import { COLOURS, type Colour, isPlainText, type Paint, safeEvent } from './text.ts';
import { type Answer, isAnswer, isShown, type Verbosity } from './visibility.ts';
import type { Terminal } from './waiting.ts';
import { wrapEvent } from './wrap.ts';

/** One of the two ways to print events: for people here, for programs in json.ts. */
export interface Printer {
  print: Emit;
  /** Shows how the sessions are doing below everything else, until it is called with an empty list. Only for people. */
  showStates?(states: SessionState[]): void;
  /** Leaves the terminal as it should be; nothing is printed afterwards. */
  close(): void;
}

export interface HumanPrinterOptions {
  stderr: Terminal;
  stdout: Terminal;
  env: Record<string, string | undefined>;
  verbosity: Verbosity;
}

/** Answers to what the user asked for (status, findings, a dry run) go to stdout, everything else to stderr. */
export function createHumanPrinter({ stderr, stdout, env, verbosity }: HumanPrinterOptions): Printer {
  const colours = wantsColours(env, stderr.isTTY ?? false);
  const paint = createPaint(colours);
  const answerColours = wantsColours(env, stdout.isTTY ?? false);
  const answerPaint = createPaint(answerColours);
  const bottom = createBottomLine(stderr, paint);
  const print = (terminal: Terminal, event: PrintedEvent, text: string): void => {
    const { isTTY, columns } = terminal;
    bottom.print(isTTY && columns ? wrapEvent(text, event, columns) : text, terminal);
  };
  const loops = new Loops();
  const counts = createCounts(
    (event: Repeated, deployment) => countingOf(event, deployment, loops),
    (last, count, how, deployment) =>
      print(stderr, last, ofDeployment(deployment) + countText(last, count, how, paint)),
  );
  const withNewBuild = createBuildMemory();
  const columnsBeside = (name: string): number | undefined =>
    stderr.isTTY && stderr.columns ? stderr.columns - name.length : undefined;
  const printAnswer = (event: Answer, name: string): void => {
    if (!answerColours) {
      // Most texts are safe. Without colours, one check of the rendered lines shows that, which is faster than checking each text of the
      // event.
      const text = name + render(event, answerPaint);
      if (isPlainText(text)) {
        print(stdout, event, text);
        return;
      }
    }
    const safe = safeEvent(event, false);
    print(stdout, safe, name + render(safe, answerPaint));
  };
  return {
    print(unsafe, deployment) {
      loops.observe(unsafe, deployment);
      if (!isShown(unsafe, verbosity)) return;
      const name = ofDeployment(deployment);
      if (isAnswer(unsafe)) return printAnswer(unsafe, name);
      const event = inFull(safeEvent(unsafe, colours), verbosity);
      if (isRepeated(event) && verbosity !== 'verbose' && !counts.isFirst(event, deployment)) return;
      if (event.type === 'waiting') {
        bottom.wait(event);
        return;
      }
      // The session's own result is printed last.
      if (event.type.startsWith('session.') || event.type === 'error') counts.close();
      const text = render(withNewBuild(event, deployment), paint, columnsBeside(name));
      print(stderr, event, withName(name, event, text));
    },
    showStates: bottom.showStates,
    close() {
      counts.close();
      bottom.clear();
    },
  };
}

/** Leaves out the build of a review, reconcile or call if it is that of the row before. */
function createBuildMemory(): (event: PrintedEvent, deployment: string | undefined) => PrintedEvent {
  const builds = new Map<string | undefined, string>();
  return (event, deployment) => {
    if (!isRepeated(event)) return event;
    const { build, ...others } = event;
    if (build === undefined || build === builds.get(deployment)) return others;
    builds.set(deployment, build);
    return event;
  };
}

/** With --verbose, a review names its user even if that is the session's own account, as it nearly always is. */
function inFull(event: DevloopEvent, verbosity: Verbosity): DevloopEvent {
  if (event.type !== 'review' || verbosity !== 'verbose') return event;
  const { isOwnUser: _, ...named } = event;
  return named;
}

/** Each row of the log is named, because rows of several sessions can be mixed. */
function withName(name: string, { type }: PrintedEvent, text: string): string {
  return name + (type === 'controller.output' ? text.replaceAll('\n', `\n${name}`) : text);
}

/** If several sessions print, each event begins with the Deployment's name, without the namespace. */
function ofDeployment(deployment: string | undefined): string {
  return deployment === undefined ? '' : `[${deployment.slice(deployment.indexOf('/') + 1)}] `;
}

function createPaint(colours: boolean): Paint {
  if (!colours) return (_, text) => text;
  // Calling styleText for each text would take half of the time of printing a list of a thousand reviews.
  const around = (colour: Colour): string[] => styleText(colour, '|', { validateStream: false }).split('|');
  const ends = Object.fromEntries(COLOURS.map((colour) => [colour, around(colour)]));
  return (colour, text) => ends[colour]![0]! + text + ends[colour]![1]!;
}

/** FORCE_COLOR decides either way (`0` is off), as in Node itself; then NO_COLOR; then whether it is a terminal. */
function wantsColours(env: Record<string, string | undefined>, isTerminal: boolean): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  if (FORCE_COLOR !== undefined) return !['0', 'false'].includes(FORCE_COLOR);
  return isTerminal && !NO_COLOR && TERM !== 'dumb';
}
