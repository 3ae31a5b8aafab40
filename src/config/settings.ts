import { isMap } from 'yaml';
import { mostSimilar } from '../similar.ts';
import { type Complain, isNothing, kindOf, namedPairs, offsetOf } from './nodes.ts';
import { type Config, SCHEMA, type Schema } from './schema.ts';
import { READERS } from './values.ts';

export interface Misplaced {
  offset: number;
  message: string;
}

/** Reads the document according to the schema. */
export function readSettings(contents: unknown): { config: Config; problems: Misplaced[] } {
  const problems: Misplaced[] = [];
  const complain: Complain = (node, message) => void problems.push({ offset: offsetOf(node), message });
  const config = isNothing(contents) ? {} : readSection(contents, SCHEMA, '', complain);
  return { config, problems };
}

function readSection(node: unknown, schema: Schema, path: string, complain: Complain): object {
  if (!isMap(node)) {
    complain(
      node,
      `${path === '' ? 'the file' : `\`${path}\``}: expected settings (\`key: value\`), got ${kindOf(node)}`,
    );
    return {};
  }
  const values: [string, unknown][] = [];
  for (const { key, name, pair } of namedPairs(node, complain)) {
    const field = Object.hasOwn(schema, name) ? schema[name] : undefined;
    const inner = below(path, name);
    if (field === undefined) complain(key, unknownKey(name, schema, path));
    // `key` without a colon has no value node, so the position of the key is shown.
    else if (field.kind !== 'section')
      values.push([name, READERS[field.kind](pair.value ?? key, inner, complain)]);
    // A section may have all its lines commented out.
    else if (!isNothing(pair.value))
      values.push([name, readSection(pair.value, field.fields, inner, complain)]);
  }
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function unknownKey(name: string, schema: Schema, path: string): string {
  const known = Object.keys(schema);
  const similar = mostSimilar(name, known);
  const unknown = `unknown key \`${below(path, name)}\``;
  const meant = similar === undefined ? elsewhere(name) : below(path, similar);
  return meant === undefined
    ? `${unknown}; expected one of ${known.join(', ')}`
    : `${unknown}; did you mean \`${meant}\`?`;
}

/** Where a setting of this name belongs, if it is a setting in the wrong place. */
function elsewhere(name: string): string | undefined {
  const top: Schema = SCHEMA;
  if (Object.hasOwn(top, name)) return name;
  return Object.entries(top)
    .filter(([, field]) => field.kind === 'section' && Object.hasOwn(field.fields, name))
    .map(([section]) => `${section}.${name}`)[0];
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
