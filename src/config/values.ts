import { isMap, isScalar, isSeq } from 'yaml';
import { similarNames } from '../similar.ts';
import type { Form } from './forms.ts';
import type { Shape } from './kinds.ts';
import { type Complain, kindOf, namedPairs } from './nodes.ts';
import { EXPECTED_ROUTE, type RouteChoice, routeChoice, routesLike } from './route-choice.ts';
import { splitWords } from './words.ts';

/** Reads the value of the setting at `path`; undefined if it reported a problem. */
export function readValue(shape: Shape, node: unknown, path: string, complain: Complain): unknown {
  switch (shape.is) {
    case 'text':
      return shape.form === undefined
        ? readText(node, path, complain)
        : readForm(node, path, complain, shape.form);
    case 'texts':
      return readTexts(node, path, complain);
    case 'one or more':
      return readForms(node, path, complain, shape.form);
    case 'number':
      return readNumber(node, path, complain, shape.most);
    case 'choice':
      return readChoice(node, path, complain, shape.choices);
    case 'route':
      return readRoute(node, path, complain);
    case 'command':
      return readCommand(node, path, complain);
    case 'variables':
      return readVariables(node, path, complain);
  }
}

function readText(node: unknown, path: string, complain: Complain, expected = 'text'): string | undefined {
  const value = isScalar(node) ? node.value : undefined;
  if (typeof value !== 'string' || value === '') {
    const quoting =
      typeof value === 'number' || typeof value === 'boolean' ? ' (quote it to make it text)' : '';
    complain(node, `\`${path}\`: expected ${expected}, got ${kindOf(node)}${quoting}`);
  } else if (hasControlCharacter(value)) {
    complain(node, `\`${path}\`: expected ${expected}, got text with a control character`);
  } else {
    return value;
  }
  return undefined;
}

function readTexts(
  node: unknown,
  path: string,
  complain: Complain,
  what = 'a list of strings',
): string[] | undefined {
  if (!isSeq(node) || node.items.length === 0) {
    complain(node, `\`${path}\`: expected ${what}, got ${isSeq(node) ? 'an empty list' : kindOf(node)}`);
    return undefined;
  }
  const texts = node.items.map((item, index) => readText(item, `${path}[${index}]`, complain));
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

function readNumber(node: unknown, path: string, complain: Complain, most: number): number | undefined {
  const value = isScalar(node) ? node.value : undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  complain(node, `\`${path}\`: expected a number from 1 to ${most}, got ${kindOf(node)}`);
  return undefined;
}

function readForm(node: unknown, path: string, complain: Complain, form: Form): string | undefined {
  const { expected, fits } = form;
  const text = readText(node, path, complain, expected);
  if (text === undefined || fits(text)) return text;
  complain(node, `\`${path}\`: expected ${expected}, got ${kindOf(node)}`);
  return undefined;
}

/** Reads one value, or a list of them. */
function readForms(node: unknown, path: string, complain: Complain, form: Form): string[] | undefined {
  if (!isSeq(node)) {
    const one = readForm(node, path, complain, form);
    return one === undefined ? undefined : [one];
  }
  if (node.items.length === 0) complain(node, `\`${path}\`: expected ${form.expected}, got an empty list`);
  const read = node.items.map((item, index) => readForm(item, `${path}[${index}]`, complain, form));
  return read.length > 0 && read.every((one) => one !== undefined) ? read : undefined;
}

function readRoute(node: unknown, path: string, complain: Complain): RouteChoice | undefined {
  const value = isScalar(node) ? node.value : undefined;
  const choice = typeof value === 'string' ? routeChoice(value) : undefined;
  if (choice === undefined)
    complain(node, `\`${path}\`: expected ${EXPECTED_ROUTE}, got ${kindOf(node)}${meant(value, routesLike)}`);
  return choice;
}

function readChoice(
  node: unknown,
  path: string,
  complain: Complain,
  choices: readonly string[],
): string | undefined {
  const value = isScalar(node) ? node.value : undefined;
  const choice = choices.find((one) => one === value);
  if (choice === undefined)
    complain(
      node,
      `\`${path}\`: expected one of ${choices.join(', ')}, got ${kindOf(node)}${meant(value, () => choices)}`,
    );
  return choice;
}

function meant(value: unknown, known: (value: string) => readonly string[]): string {
  const similar = typeof value === 'string' ? similarNames(value, known(value))[0] : undefined;
  return similar === undefined ? '' : `; did you mean \`${similar}\`?`;
}

function readCommand(node: unknown, path: string, complain: Complain): string[] | undefined {
  if (isSeq(node)) return readTexts(node, path, complain, 'a command');
  const text = readText(node, path, complain, 'a command (text, or a list of words)');
  if (text === undefined) return undefined;
  const split = splitWords(text);
  if ('words' in split) return split.words;
  complain(node, `\`${path}\`: ${split.problem}`);
  return undefined;
}

function readVariables(node: unknown, path: string, complain: Complain): Record<string, string> | undefined {
  if (!isMap(node)) {
    complain(node, `\`${path}\`: expected variables (\`NAME: value\`), got ${kindOf(node)}`);
    return undefined;
  }
  const values = namedPairs(node, complain).map(({ key, name, pair }) => {
    if (!/^[^=\p{Cc}]+$/u.test(name))
      complain(key, `\`${path}\`: expected a variable name without \`=\` or control characters`);
    return [name, readVariable(pair.value ?? key, `${path}.${name}`, complain)] as const;
  });
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Reads the value of a variable. Numbers and booleans keep their text as written, as in `PORT: 8080` and `ENABLE_WEBHOOKS: false`. */
function readVariable(node: unknown, path: string, complain: Complain): string | undefined {
  const { value, source } = isScalar(node) ? node : {};
  if (typeof value === 'number' || typeof value === 'boolean') return source ?? String(value);
  if (value === '') return '';
  if (typeof value === 'string' && !value.includes('\0')) return value;
  complain(
    node,
    `\`${path}\`: expected text, got ${typeof value === 'string' ? 'text with a NUL byte' : kindOf(node)}`,
  );
  return undefined;
}

/** Whether the text has a control character that must be a mistake. Line breaks and tabs are useful in an argument. */
function hasControlCharacter(text: string): boolean {
  return /[^\P{Cc}\t\n]/u.test(text);
}
