import type { Emit } from './events.ts';
import { createPaint, wantsColours } from './paint.ts';
import { type PrintedEvent, render } from './render.ts';
import { reviewCount } from './render-review.ts';
import { createReviewCounts } from './review-counts.ts';
import { type Paint, safeEvent } from './text.ts';
import { isAnswer, isShown, type Verbosity } from './visibility.ts';
import { createWaitingLine, type Terminal } from './waiting-line.ts';
import { wrapEvent } from './wrap.ts';

/** One of the two ways to print events: for people here, for programs in json.ts. */
export interface Printer {
  print: Emit;
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
  const answerPaint = createPaint(wantsColours(env, stdout.isTTY ?? false));
  const waiting = createWaitingLine(stderr, paint);
  const print = (terminal: Terminal, event: PrintedEvent, colour: Paint, deployment?: string): void => {
    const text = ofDeployment(deployment) + render(event, colour);
    const { isTTY, columns } = terminal;
    terminal.write(`${isTTY && columns ? wrapEvent(text, event, columns) : text}\n`);
  };
  const counts = createReviewCounts((review, count, deployment) => {
    waiting.clear();
    stderr.write(`${ofDeployment(deployment)}${reviewCount(review, count, paint)}\n`);
  });
  return {
    print(unsafe, deployment) {
      if (!isShown(unsafe, verbosity)) return;
      const event = safeEvent(unsafe, colours);
      if (event.type === 'review' && verbosity !== 'verbose' && !counts.isFirst(event, deployment)) return;
      if (event.type === 'waiting') {
        waiting.show(event);
        return;
      }
      waiting.clear();
      // The session's own result comes last.
      if (event.type.startsWith('session.') || event.type === 'error') counts.close();
      if (isAnswer(event)) print(stdout, event, answerPaint, deployment);
      else print(stderr, event, paint, deployment);
    },
    close() {
      counts.close();
      waiting.clear();
    },
  };
}

/** Where several sessions print, each event begins with the Deployment's name, without the namespace. */
function ofDeployment(deployment: string | undefined): string {
  return deployment === undefined ? '' : `[${deployment.slice(deployment.indexOf('/') + 1)}] `;
}
