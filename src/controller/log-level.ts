import { stripVTControlCharacters } from 'node:util';

/** How urgent a line of a log is. detail: below a warning. error: also what ends the program. */
export type LogLevel = 'detail' | 'warning' | 'error';

/** The words of all loggers, in lower case. */
const WORDS: Record<LogLevel, string[]> = {
  detail: [
    ...['i', 'd', 't', 'v', 'trace', 'trc', 'trce', 'debug', 'dbg', 'dbug', 'verbose', 'silly'],
    ...['info', 'inf', 'information', 'notice', 'success', 'http', 'level'],
  ],
  warning: ['w', 'warn', 'warning', 'wrn'],
  error: [
    ...['e', 'f', 'c', 'error', 'err', 'eror', 'fail', 'fatal', 'ftl', 'fatl', 'dpanic', 'panic', 'pnc'],
    ...['crit', 'critical', 'severe', 'alert', 'emerg', 'emergency'],
  ],
};
const LEVELS = new Map(
  Object.entries(WORDS).flatMap(([level, words]) => words.map((word) => [word, level as LogLevel])),
);
/** Longest first, so that `warn` does not hide `warning`. Letters alone count only where a form says so. */
const ANY = [...LEVELS.keys()]
  .filter((word) => word.length > 1)
  .sort((a, b) => b.length - a.length)
  .join('|');
const CAPITALS = ANY.toUpperCase();

interface Form {
  /** The loggers that write it. */
  of: string;
  /** Finds the level in a line without colours: a word, or a number of pino and bunyan. Undefined if the line has another form. */
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
  // `time=… level=WARN msg=…`, `"level"=0 "msg"="…"`
  form(
    'slog, logrus, logr and others as logfmt',
    /^(?:[\w.@-]+=(?:"(?:[^"\\]|\\.)*"|\S*)\s+)*"?(?:level|lvl|severity)"?="?([a-z]+|\d+)/i,
  ),
  // `2026-11-22T10:15:02Z\tINFO\tsetup\t…`, `1.7e+09\tinfo\t…`
  form('zap', new RegExp(`^\\S+\\t(${ANY})(?:\\(-?\\d+\\))?\\t`, 'i')),
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

/** logr writes its verbosity as a small number, and pino and bunyan write 10 for trace to 60 for fatal. */
function levelNamed(found: string | number): LogLevel | undefined {
  const number = Number(found);
  if (Number.isNaN(number)) return LEVELS.get(/^[a-z]*/.exec(String(found).toLowerCase())![0]);
  return number >= 50 ? 'error' : number >= 40 ? 'warning' : 'detail';
}

const JSON_FIELDS = ['level', 'lvl', 'severity', 'levelname', 'log.level', 'L', 'v'];

/** Without a level (klog, logr), the errors are the lines with an error. */
function inJson(line: string): string | number | undefined {
  if (!line.startsWith('{')) return undefined;
  const entry = parsed(line);
  const level = JSON_FIELDS.map((name) => entry?.[name]).find((value) => value !== undefined);
  if (typeof level === 'string') return level;
  if (entry?.err !== undefined || entry?.error !== undefined) return 'error';
  return typeof level === 'number' ? level : undefined;
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
