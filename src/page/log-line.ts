/** What a line of a structured log says, without the fields that each line of a reconcile has. */
export interface LogWords {
  message: string;
  error?: string;
  level?: string;
}

/** Longer lines are shown as they are. */
const LONGEST = 20_000;
/** `2026-11-29T09:43:10Z	INFO	controllers.web	Created	{"name": "web"}`, as zap writes for people. */
const ZAP = /^\d{4}-\S+\s+(DEBUG|INFO|WARN|ERROR|DPANIC|PANIC|FATAL)\s+(.*?)\s*(\{.*\})?$/s;
/** `I1129 09:43:10.123456   1 web.go:42] "Created" name="web"`, as klog writes. */
const KLOG = /^([IWEF])\d{4} \S+\s+\d+ [^\]]+\] (?:"((?:[^"\\]|\\.)*)"|(.*))/s;
const KLOG_LEVELS: Record<string, string> = { I: 'info', W: 'warning', E: 'error', F: 'fatal' };

/** Undefined if it is of no known form. */
export function logWords(line: string): LogWords | undefined {
  if (line.length > LONGEST) return undefined;
  if (line.startsWith('{')) return ofFields(fieldsIn(line));
  const [, level, text = '', json = ''] = ZAP.exec(line) ?? [];
  if (level !== undefined) {
    const { error } = ofFields({ msg: text, ...fieldsIn(json) }) ?? {};
    return { message: text.replaceAll('\t', ' '), level: level.toLowerCase(), ...(error ? { error } : {}) };
  }
  const [, letter, quoted, plain = ''] = KLOG.exec(line) ?? [];
  if (letter === undefined) return undefined;
  const [, error] = /\berr(?:or)?="((?:[^"\\]|\\.)*)"/.exec(line) ?? [];
  const known = { message: quoted ?? plain, level: KLOG_LEVELS[letter]! };
  return { ...known, ...(error === undefined ? {} : { error: error.replaceAll(/\\(.)/g, '$1') }) };
}

function ofFields(fields: Record<string, unknown>): LogWords | undefined {
  const { msg, message = msg, error, err = error, level } = fields;
  if (typeof message !== 'string') return undefined;
  return {
    message,
    ...(typeof err === 'string' ? { error: err } : {}),
    ...(typeof level === 'string' ? { level } : {}),
  };
}

function fieldsIn(json: string): Record<string, unknown> {
  try {
    return (JSON.parse(json) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
