import fc from 'fast-check';
import { expect } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { CATALOGUE, DevloopError, originOf } from '../../src/errors.ts';
import type { DevloopEvent } from '../../src/report/events.ts';

const HANG_MS = 120_000;

export interface Outcome {
  events: DevloopEvent[];
  /** Absent if the command did what it was asked to do. */
  error?: DevloopError;
  /** Whether the arguments were accepted. */
  isStarted: boolean;
}

export interface Invocation {
  args: string[];
  cwd: string;
  env: Record<string, string | undefined>;
  /** Stops once the arguments are accepted. */
  onlyArguments?: boolean;
}

/** Runs a command in this process, as src/main.ts does. Fails on a hang, and on everything that main.ts would report as a bug. */
export async function run({ args, cwd, env, onlyArguments }: Invocation): Promise<Outcome> {
  const outcome: Outcome = { events: [], isStarted: false };
  const leaving = new AbortController();
  const io = {
    emit: (event: DevloopEvent) => void outcome.events.push(event),
    signal: leaving.signal,
    env,
    cwd,
  };
  const running = runProgram(args, {
    name: 'devloop',
    version: '0',
    write: () => {},
    async run(_, task) {
      outcome.isStarted = true;
      if (!onlyArguments) await task(io);
    },
  }).catch((thrown) => originOf(thrown));
  const hung = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    hung.reject(new Error(`HUNG: devloop ${args.join(' ')}`));
    leaving.abort();
  }, HANG_MS);
  const error = await Promise.race([running, hung.promise]).finally(() => clearTimeout(timer));
  if (error === undefined) return outcome;
  if (!(error instanceof DevloopError)) throw new Error('devloop would call this a bug', { cause: error });
  expectHelpful(error);
  return { ...outcome, error };
}

/** What no message of devloop contains: errors of JavaScript itself, and values that were printed without a check. */
const CARELESS =
  /\binternal\b|\bTypeError\b|RangeError|is not a function|is not iterable|Cannot (?:read|convert|destructure)|\[object |\bundefined\b|\bNaN\b|^\s+at /im;

/** A documented code, a cause whose first line says what is wrong, and a next step. */
export function expectHelpful({ code, message, hint, exitCode }: DevloopError): void {
  const shown = `${code}: ${message}\n→ ${hint}`;
  expect(CATALOGUE, shown).toHaveProperty([code]);
  expect(exitCode, shown).toBeGreaterThan(1);
  expect(message.split('\n', 1)[0]!.trim(), shown).not.toBe('');
  expect(message, shown).not.toMatch(CARELESS);
  expect(hint?.trim(), shown).toMatch(/\S/);
}

/** Texts that often break programs. */
export const NASTY_TEXTS = [
  ...['', ' ', '\n', 'a\nb', '\0', 'a\0b', '\x1b[2J', '\u202e', '💥', '\ud800', '\ufeff', 'ä'.repeat(70)],
  ...[
    '-',
    '--',
    '--help',
    '-1',
    '0',
    '0x10',
    '1e999',
    '65536',
    '99999999999999999999',
    '1.5',
    'true',
    'null',
    '~',
  ],
  ...[
    '.',
    '..',
    '/',
    '//',
    '../../../../etc/passwd',
    '/dev/null',
    '/proc/self/mem',
    'a/b/c',
    'C:\\x',
    '~root',
    '$HOME',
  ],
  ...[
    '$(',
    '$(X)',
    '$$',
    '`id`',
    '%s%n',
    '{{.}}',
    '$\x7bX}',
    '"',
    "'",
    '\\',
    '*',
    '?',
    '[',
    ']',
    '{',
    '}',
    '|',
    '<',
    '&',
  ],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'],
  ...[
    '::',
    '[::1]',
    '0.0.0.0',
    '256.1.1.1',
    '10.0.0.0/33',
    ':0',
    ':99999',
    'x:y:z',
    '@',
    'a@',
    '@b',
    'ssh:',
    'ssh:-oX',
  ],
  ...['{"a":', '[]', '{}', '-----BEGIN CERTIFICATE-----', '=?', 'a'.repeat(300), 'x,'.repeat(500)],
] as const;

export const nastyText = fc.oneof(
  fc.constantFrom(...NASTY_TEXTS),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
);

const nastyNumber = fc.constantFrom(0, -1, 1, 1.5, 65_535, 65_536, 2 ** 31, 2 ** 53, 1e21, -0);

/** Any JSON in place of any other, for files that people write. */
export const nastyJson: fc.Arbitrary<unknown> = fc.oneof(
  nastyText,
  nastyNumber,
  fc.constantFrom<unknown>(null, true, false, [], {}, [null], [[]], [{}], { a: null }, [1, 'a'], { name: 7 }),
);

type Path = (string | number)[];

function pathsIn(value: unknown, below: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [below];
  const keys = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value);
  return [
    ...(below.length === 0 ? [] : [below]),
    ...keys.flatMap((key) => pathsIn((value as never)[key], [...below, key])),
  ];
}

export function valueIn(root: unknown, path: Path): unknown {
  return path.reduce((value, key) => (value as Record<string | number, unknown> | undefined)?.[key], root);
}

function withValue(root: unknown, path: Path, value: unknown): unknown {
  const copy = structuredClone(root);
  const parent = valueIn(copy, path.slice(0, -1)) as Record<string | number, unknown> | undefined;
  if (typeof parent !== 'object' || parent === null) return copy;
  const key = path.at(-1)!;
  if (value !== REMOVED)
    Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
  else if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return copy;
}

const REMOVED = Symbol('removed');

/** The value, with one to three parts replaced by other JSON, or removed. */
export function mutated<T>(base: T): fc.Arbitrary<unknown> {
  const change = fc.record({
    path: fc.constantFrom(...pathsIn(base)),
    value: fc.oneof({ weight: 4, arbitrary: nastyJson }, { weight: 1, arbitrary: fc.constant(REMOVED) }),
  });
  return fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) => changes.reduce<unknown>((now, { path, value }) => withValue(now, path, value), base));
}

/** Paths, joined by dots: those that an API server would not allow to be absent, and those that this test does not change. */
export interface Shape {
  optional: RegExp;
  fixed: RegExp;
}

/** The same for what an API server sends, which checks types: a text becomes another text, and only optional fields are removed. */
export function mutatedWithinTypes<T>(base: T, { optional, fixed }: Shape): fc.Arbitrary<T> {
  const changes = pathsIn(base).flatMap((path) => {
    const name = path.join('.');
    if (fixed.test(name)) return [];
    const values = [
      ...valuesLike(valueIn(base, path)),
      ...(optional.test(name) ? [fc.constant(REMOVED)] : []),
    ];
    return values.map((value) => fc.record({ path: fc.constant(path), value }));
  });
  return fc
    .array(fc.oneof(...changes), { minLength: 1, maxLength: 3 })
    .map((made) => made.reduce<unknown>((now, { path, value }) => withValue(now, path, value), base) as T);
}

function valuesLike(value: unknown): fc.Arbitrary<unknown>[] {
  if (typeof value === 'string') return [nastyText];
  if (typeof value === 'number') return [nastyNumber.map(Math.trunc)];
  if (typeof value === 'boolean') return [fc.boolean()];
  if (Array.isArray(value)) return [fc.constantFrom([...value, ...value], value.toReversed())];
  const isMap = Object.values(value as object).every((one) => typeof one === 'string');
  return isMap ? [fc.dictionary(nastyText, nastyText, { maxKeys: 3 })] : [];
}
