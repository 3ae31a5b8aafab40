/** How a note or a warning reads, made from its values. */
export interface Notice<L extends Level, V> {
  level: L;
  text(values: V): string;
  /** What to do next, if there is something. */
  hint?(values: V): string | undefined;
}

export type Level = 'note' | 'warning';

/** Something worth knowing that needs no action. */
export function note<V = Record<never, never>>(text: (values: V) => string): Notice<'note', V> {
  return { level: 'note', text };
}

/** Something is not as it should be, but devloop continues. */
export function warning<V = Record<never, never>>(
  text: (values: V) => string,
  hint?: (values: V) => string | undefined,
): Notice<'warning', V> {
  return { level: 'warning', text, ...(hint && { hint }) };
}
