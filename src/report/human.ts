import { createPaint, wantsColours } from './paint.ts';
import type { Printer } from './printer.ts';
import { render } from './render.ts';
import { renderFinding } from './render-finding.ts';
import { renderStatus } from './render-status.ts';
import { safeEvent } from './safe-text.ts';
import { isShown, type Verbosity } from './visibility.ts';
import { createWaitingLine, type Terminal } from './waiting-line.ts';

export interface HumanPrinterOptions {
  stderr: Terminal;
  stdout: Terminal;
  env: Record<string, string | undefined>;
  verbosity: Verbosity;
}

/** For people: all on stderr, but for what was asked for (status, findings), which goes to stdout. */
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
      if (event.type === 'status') stdout.write(`${renderStatus(event.sessions, resultPaint)}\n`);
      else if (event.type === 'finding') stdout.write(`${renderFinding(event, resultPaint)}\n`);
      else stderr.write(`${render(event, paint)}\n`);
    },
    close() {
      waiting.clear();
    },
  };
}
