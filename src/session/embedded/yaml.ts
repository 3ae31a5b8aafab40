import type { Document } from 'yaml';
import { DevloopError } from '../../errors.ts';
import type { Declared } from './declared.ts';

/** The objects of a YAML text; what is no object is left out. Throws 'embedded.manifests' if it is no YAML, as when it is being written. */
export async function objectsIn(text: string, from: string): Promise<Declared[]> {
  const { isScalar, parseAllDocuments, visit } = await import('yaml');
  // In a template, `name: {{ .name }}` is a map in a map.
  const hasPlainKeys = (document: Document): boolean => {
    let are = true;
    visit(document, {
      Pair(_, { key }) {
        are &&= isScalar(key);
        return are ? undefined : visit.BREAK;
      },
    });
    return are;
  };
  const documents = parseAllDocuments(text, { uniqueKeys: false });
  const [problem] = documents.flatMap(({ errors }) => errors);
  if (problem) {
    const message = `${from} cannot be read: ${problem.message.split('\n', 1)[0]}`;
    throw new DevloopError('embedded.manifests', message, { hint: `Fix ${from}.` });
  }
  const values: unknown[] = documents.filter(hasPlainKeys).map((document) => document.toJS());
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
