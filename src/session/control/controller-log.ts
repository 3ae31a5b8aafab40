import { stripVTControlCharacters } from 'node:util';
import type { ControllerLogChoice } from '../../config/choices.ts';
import type { DevloopEvent } from '../../report/events.ts';

/** Which lines of the controller's log are shown. */
export interface ControllerLog {
  /** Whether an event is shown. Must be called for each event, in order. */
  shows(event: DevloopEvent): boolean;
  /** Hides all lines, or shows the chosen ones again. Returns whether any are shown after this call. */
  toggle(): boolean;
}

export function createControllerLog(chosen: ControllerLogChoice): ControllerLog {
  /** Whether the last line with a level was a warning, by stream: the lines of a stack trace or a panic that follow have no level. */
  const isWarning = { stdout: true, stderr: true };
  let isHidden = chosen === 'off';
  return {
    shows(event) {
      if (event.type !== 'controller.output') return true;
      const { stream, line } = event;
      if (chosen !== 'warnings') return !isHidden;
      isWarning[stream] = isWarningLine(line) ?? isWarning[stream];
      return !isHidden && isWarning[stream];
    },
    toggle() {
      isHidden = !isHidden;
      // Whoever asks for a log that was off from the start wants all of it.
      chosen = chosen === 'off' ? 'all' : chosen;
      return !isHidden;
    },
  };
}

const WARNING =
  /^(?:w|e|f|warn|warning|wrn|err|error|fail|ftl|fatal|dpanic|panic|crit|critical|severe|alert|emerg(?:ency)?)$/i;
const LEVELS =
  'trace|trc|trce|debug|dbg|dbug|info|inf|notice|warn|warning|wrn|error|err|fail|fatal|ftl|dpanic|panic|crit|critical|severe';
/** klog's `E1122 10:15:02.123456`. */
const KLOG = /^([IWEF])\d{4} \d\d:\d\d:\d\d/;
/** `level=warning`, `"level":"error"`, `lvl=eror`. */
const FIELD = /(?:^|[\s{,"])(?:level|lvl|severity|log\.level)"?\s*[=:]\s*"?([a-z]+)/i;
/**
 * A level in upper case anywhere near the beginning, as in `2026-11-22T10:15:02Z\tINFO\tsetup` or `[WARN ]`; in lower case only between
 * tabs or as in `warn: …`.
 */
const WORD = new RegExp(`(?:^|[\\s[(|])(${LEVELS.toUpperCase()})(?=[\\s\\])|:]|$)`);
const LOWER_CASE_WORD = new RegExp(`(?:^|\\t)(${LEVELS})(?=\\t|:)`);
const BEGINNING = 120;
/** What a runtime prints when the program crashes. */
const CRASH = /^(?:panic: |fatal error: |SIGSEGV|Traceback |Exception in thread |thread '.*' panicked)/;

/** Whether a line of a log is a warning or worse; undefined if it has no level of its own. */
export function isWarningLine(coloured: string): boolean | undefined {
  const line = stripVTControlCharacters(coloured);
  if (CRASH.test(line)) return true;
  if (line.startsWith('{')) return isWarningObject(line);
  const beginning = line.slice(0, BEGINNING);
  const level = [KLOG, FIELD, WORD, LOWER_CASE_WORD]
    .map((form) => form.exec(beginning)?.[1])
    .find((found) => found !== undefined);
  return level === undefined ? undefined : WARNING.test(level);
}

/** Numeric levels are those of bunyan and pino, where 40 is a warning. Without a level (klog), only errors have an `error` field. */
function isWarningObject(line: string): boolean | undefined {
  const entry = parsed(line);
  if (entry === undefined) return undefined;
  const level = entry.level ?? entry.lvl ?? entry.severity ?? entry['log.level'];
  if (typeof level === 'number') return level >= 40;
  if (typeof level === 'string') return WARNING.test(level);
  return entry.err !== undefined || entry.error !== undefined;
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
