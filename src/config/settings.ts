import { isMap } from 'yaml';
import { mostSimilar } from '../similar.ts';
import { type Complain, isNothing, kindOf, namedPairs, offsetOf } from './nodes.ts';
import { type Config, KEYS, namesIn, SETTINGS } from './table.ts';
import { readValue } from './values.ts';

export interface Misplaced {
  offset: number;
  message: string;
}

/** Reads the document according to the table of settings. */
export function readSettings(contents: unknown): { config: Config; problems: Misplaced[] } {
  const problems: Misplaced[] = [];
  const complain: Complain = (node, message) => void problems.push({ offset: offsetOf(node), message });
  const config = isNothing(contents) ? {} : readSection(contents, '', complain);
  return { config, problems };
}

function readSection(node: unknown, path: string, complain: Complain): object {
  if (!isMap(node)) {
    complain(
      node,
      `${path === '' ? 'the file' : `\`${path}\``}: expected settings (\`key: value\`), got ${kindOf(node)}`,
    );
    return {};
  }
  const known = namesIn(below(path, ''));
  const values: [string, unknown][] = [];
  for (const { key, name, pair } of namedPairs(node, complain)) {
    const inner = below(path, name);
    const setting = KEYS.find((one) => one === inner);
    if (!known.includes(name)) complain(key, unknownKey(name, known, path));
    // `key` without a colon has no value node, so the position of the key is shown.
    else if (setting !== undefined)
      values.push([name, readValue(SETTINGS[setting].kind.shape, pair.value ?? key, inner, complain)]);
    // A section may have all its lines commented out.
    else if (!isNothing(pair.value)) values.push([name, readSection(pair.value, inner, complain)]);
  }
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function unknownKey(name: string, known: string[], path: string): string {
  const similar = mostSimilar(name, known);
  const unknown = `unknown key \`${below(path, name)}\``;
  const meant = similar === undefined ? elsewhere(name) : below(path, similar);
  return meant === undefined
    ? `${unknown}; expected one of ${known.join(', ')}`
    : `${unknown}; did you mean \`${meant}\`?`;
}

/** Where a setting of this name belongs, if it is a setting in the wrong place. */
function elsewhere(name: string): string | undefined {
  return [...namesIn(''), ...KEYS].find((key) => key === name || key.endsWith(`.${name}`));
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
