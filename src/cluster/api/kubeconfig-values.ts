/** Reads one setting. Throws if it has a type that kubectl refuses. */
type Check<T> = (value: unknown, place: string) => T;

export type CheckedValues<T> = { [K in keyof T]: T[K] extends Check<infer V> ? V : never };

/** The settings of a map that are known. */
export function checked<T extends object>(value: unknown, place: string, settings: T): CheckedValues<T> {
  const given = map(value, place);
  const all = Object.entries(settings as Record<string, Check<unknown>>);
  return Object.fromEntries(
    all.map(([key, check]) => [key, check(given[key], `${place}.${key}`)]),
  ) as CheckedValues<T>;
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, place) => (value == null ? undefined : check(value, place));
}

export function text(value: unknown, place: string): string {
  if (value == null) return '';
  if (typeof value === 'string') return value;
  throw new Error(`${place} is not text`);
}

export function flag(value: unknown, place: string): boolean {
  if (value == null) return false;
  if (typeof value === 'boolean') return value;
  throw new Error(`${place} is neither true nor false`);
}

/** Go accepts line breaks in base64, but requires the padding. */
export function base64(value: unknown, place: string): string {
  const given = text(value, place).replaceAll(/[\r\n]/g, '');
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(given)) return given;
  throw new Error(`${place} is not base64`);
}

export function list(value: unknown, place: string): unknown[] {
  if (value == null) return [];
  if (Array.isArray(value)) return value;
  throw new Error(`${place} is not a list`);
}

export function texts(value: unknown, place: string): string[] {
  return list(value, place).map((one) => text(one, place));
}

export function map(value: unknown, place: string): Record<string, unknown> {
  if (value == null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${place} is not a map`);
}

export function expectOneOf(value: string, expected: string[], place: string): void {
  if (!expected.includes(value)) throw new Error(`its ${place} is not ${expected.at(-1)}`);
}
