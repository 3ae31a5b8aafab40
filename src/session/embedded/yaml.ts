import type { Declared } from './objects.ts';

/** The objects of a YAML text; what is no object is left out. */
export async function objectsIn(text: string): Promise<Declared[]> {
  const { parseAllDocuments } = await import('yaml');
  const values: unknown[] = parseAllDocuments(text).map((document) => document.toJS());
  const all = values.flatMap((value) => {
    const { kind, items } = (value ?? {}) as { kind?: unknown; items?: unknown };
    return kind === 'List' && Array.isArray(items) ? items : [value];
  });
  return all.filter(isObject);
}

function isObject(value: unknown): value is Declared {
  const { apiVersion, kind, metadata } = (value ?? {}) as Record<string, unknown>;
  const { name } = (metadata ?? {}) as { name?: unknown };
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof name === 'string';
}
