import type { DevloopEvent } from './events.ts';
import { createPaint, type Paint, wantsColours } from './paint.ts';
import type { Printer } from './printer.ts';
import { render } from './render.ts';
import { renderFinding } from './render-finding.ts';
import { renderStatus } from './render-status.ts';
import { safeEvent } from './safe-text.ts';
import { isAnswer, isShown, type Verbosity } from './visibility.ts';
import { createWaitingLine, type Terminal } from './waiting-line.ts';

export interface HumanPrinterOptions {
  stderr: Terminal;
  stdout: Terminal;
  env: Record<string, string | undefined>;
  verbosity: Verbosity;
}

/** For people: all on stderr, but for what was asked for (status, findings, what a dry run would do), which goes to stdout. */
export function createHumanPrinter({ stderr, stdout, env, verbosity }: HumanPrinterOptions): Printer {
  const colours = wantsColours(env, stderr.isTTY ?? false);
  const paint = createPaint(colours);
  const resultPaint = createPaint(wantsColours(env, stdout.isTTY ?? false));
  const waiting = createWaitingLine(stderr, paint);
  return {
    print(unsafe) {
      if (!isShown(unsafe, verbosity)) return;
      const event = safeEvent(unsafe, colours);
      if (event.type === 'waiting') {
        waiting.show(event);
        return;
      }
      waiting.clear();
      if (isAnswer(event)) stdout.write(`${textOf(event, resultPaint)}\n`);
      else stderr.write(`${textOf(event, paint)}\n`);
    },
    close() {
      waiting.clear();
    },
  };
}

function textOf(event: Exclude<DevloopEvent, { type: 'waiting' }>, paint: Paint): string {
  if (event.type === 'status') return renderStatus(event.sessions, paint);
  return event.type === 'finding' ? renderFinding(event, paint) : render(event, paint);
}
