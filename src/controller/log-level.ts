import { stripVTControlCharacters } from 'node:util';

/** How urgent a line of a log is. detail: below a warning. error: also what ends the program. */
export type LogLevel = 'detail' | 'warning' | 'error';

type Words = Record<LogLevel, string[]>;

/** Levels wherever a form expects one, in lower case. */
const WORDS: Words = {
  detail: ['trace', 'trc', 'trce', 'debug', 'dbg', 'dbug', 'verbose', 'info', 'inf', 'information', 'notice'],
  warning: ['warn', 'warning', 'wrn'],
  error: [
    ...['error', 'err', 'eror', 'fail', 'fatal', 'ftl', 'fatl', 'dpanic', 'panic', 'pnc'],
    ...['crit', 'critical', 'severe', 'alert', 'emerg', 'emergency'],
  ],
};
/** Levels only where nothing else can be. zap writes `Level(-4)`. */
const FIELD_WORDS: Words = {
  detail: ['i', 'd', 'level', 'silly', 'http', 'success'],
  warning: ['w'],
  error: ['e', 'f'],
};
const LEVELS = new Map(
  [WORDS, FIELD_WORDS].flatMap((words) =>
    (['detail', 'warning', 'error'] as const).flatMap((level) =>
      words[level].map((word) => [word, level] as const),
    ),
  ),
);
/** Longest first, so that `warn` does not hide `warning`. */
const ANY = Object.values(WORDS)
  .flat()
  .sort((a, b) => b.length - a.length)
  .join('|');
const CAPITALS = ANY.toUpperCase();

interface Form {
  /** The loggers that write it. */
  of: string;
  /** Finds the level in a line without colours: a word, or a number in JSON. Undefined if the line has another form. */
  find(line: string): string | number | undefined;
}

/** The pattern has the level as its only group. */
function form(of: string, pattern: RegExp): Form {
  return { of, find: (line) => pattern.exec(line.slice(0, BEGINNING))?.[1] };
}

/** No logger writes more before the level. */
const BEGINNING = 200;

/** How loggers write the level of a line. The first form that fits decides. */
const FORMS: Form[] = [
  {
    of: 'zap, slog, zerolog, logrus, klog, tracing, pino, winston, structlog and kopf as JSON',
    find: inJson,
  },
  // `E1122 10:15:02.123456   42 reflector.go:56] …`
  form('klog, glog', /^([IWEF])\d{4} \d\d:\d\d:\d\d/),
  // `time=… level=WARN msg=…`
  form(
    'slog, logrus and others as logfmt',
    /^(?:[\w.@-]+=(?:"(?:[^"\\]|\\.)*"|\S*)\s+)*"?(?:level|lvl|severity)"?="?([a-z]+)/i,
  ),
  // `"level"=0 "msg"="…"`, `"msg"="…" "error"="…"`
  { of: 'logr', find: inLogr },
  // `2026-11-22T10:15:02Z\tINFO\tsetup\t…`, `1.7e+09\tinfo\t…`
  form('zap', new RegExp(`^\\S+\\t(${ANY}|level)(?:\\(-?\\d+\\))?\\t`, 'i')),
  // `WARNING:kopf:…`, `fail: KubeOps[0]`, `warn: …`
  form('Python, .NET, winston', new RegExp(`^\\s*(${ANY}):`, 'i')),
  // `2026-11-22 10:15:02 [warning  ] …`, `[ERROR   ] …`
  form(
    'structlog, kopf, nginx',
    new RegExp(`^[^[a-z]*(?:\\[[^\\]]*\\] (?:[\\w.]+ +)?)?\\[(${ANY}|${CAPITALS})\\s*\\]`),
  ),
  // After a time, the name of a logger or signs: `2026-11-22 10:15:02,123 - my.logger - WARNING - …`, `10:15AM ERR …`
  form(
    'tracing, env_logger, zerolog, pino-pretty, Java, Python, loguru, Serilog',
    new RegExp(
      `^\\s*(?:(?:\\S*[^\\sA-Za-z]\\S*|\\w+(?=\\s+[-|]))\\s+){0,8}\\[?(${CAPITALS})\\s*(?=[\\s\\]):|(-]|$)`,
    ),
  ),
];

/** The level of a line of a log; undefined if it has none that is known, as a line of a stack trace has none. */
export function levelOf(coloured: string): LogLevel | undefined {
  const line = stripVTControlCharacters(coloured);
  for (const { find } of FORMS) {
    const found = find(line);
    if (found !== undefined) return levelNamed(found);
  }
  return undefined;
}

const IN_A_STACK = /^\s|^[\w./*()[\]-]+\.[\w./*()[\]-]+$/;

/** Whether a line without a level looks like one of a stack trace of Go. */
export function isOfStack(line: string): boolean {
  return IN_A_STACK.test(line);
}

/** pino and bunyan write 10 for trace to 60 for fatal. winston writes 0 for errors and 1 for warnings; its other numbers mean different things. */
function levelNamed(found: string | number): LogLevel | undefined {
  if (typeof found === 'string') return LEVELS.get(/^[a-z]*/.exec(found.toLowerCase())![0]);
  if (found >= 10) return found >= 50 ? 'error' : found >= 40 ? 'warning' : 'detail';
  return found === 0 ? 'error' : found === 1 ? 'warning' : undefined;
}

/** The number is the verbosity, which is not about urgency; an error has none. */
function inLogr(line: string): string | undefined {
  if (/(?:^|\s)"level"=\d+ "msg"=/.test(line)) return 'info';
  return /(?:^|\s)"msg"="(?:[^"\\]|\\.)*" "error"=/.test(line) ? 'error' : undefined;
}

const JSON_FIELDS = ['level', 'lvl', 'severity', 'levelname', 'log.level', 'L'];

/** The lines of klog and logr have a verbosity, and those that are errors an error. */
function inJson(line: string): string | number | undefined {
  if (!line.startsWith('{')) return undefined;
  const entry = parsed(line) ?? {};
  const level = JSON_FIELDS.map((name) => entry[name]).find((value) => value !== undefined);
  if (typeof level === 'string' || (typeof level === 'number' && level >= 10)) return level;
  if (entry.err !== undefined || entry.error !== undefined) return 'error';
  if (typeof level !== 'number') return entry.v === undefined ? undefined : 'info';
  return entry.logger === undefined ? level : 'info';
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
