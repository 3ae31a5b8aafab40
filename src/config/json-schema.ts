import type { Kind, Shape } from './kinds.ts';
import { PLAIN_ROUTES } from './route-choice.ts';
import { KEYS, type Key, namesIn, rowOf } from './table.ts';

type JsonSchema = Record<string, unknown>;

/**
 * The JSON Schema of devloop.yaml, for editors. It accepts whatever devloop accepts, and refuses most of what devloop refuses: the rest,
 * such as a command that needs a shell, only devloop itself reports.
 */
export function jsonSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'devloop.yaml',
    ...section(''),
  };
}

function section(prefix: string): JsonSchema {
  const properties = namesIn(prefix).map((name) => {
    const setting = KEYS.find((key) => key === prefix + name);
    return [name, setting === undefined ? section(`${prefix}${name}.`) : property(setting)];
  });
  // All lines of a section, and of the file, can be commented out.
  return {
    type: ['object', 'null'],
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  };
}

function property(key: Key): JsonSchema {
  const { kind, default: value } = rowOf(key);
  return {
    ...schemaOf(kind.shape),
    description: aboutInFile(key),
    default: value,
  };
}

/** What the setting means, with what applies by default. */
export function aboutInFile(key: Key): string {
  const { about, more, otherwise } = rowOf(key);
  const phrase = about.charAt(0).toUpperCase() + about.slice(1);
  return [`${phrase}.`, ...(otherwise ? [`Default: ${otherwise}.`] : []), ...(more ? [more] : [])].join(' ');
}

/** As values.ts does, this allows line breaks and tabs, but no other control characters. */
const NO_CONTROL = '^[^\\u0000-\\u0008\\u000B-\\u001F\\u007F-\\u009F]*$';
const TEXT = { type: 'string', minLength: 1, pattern: NO_CONTROL };

function schemaOf(shape: Kind<unknown>['shape']): JsonSchema {
  switch (shape.is) {
    case 'text':
      return textOf(shape);
    case 'texts':
      return listOf(TEXT);
    case 'one or more':
      return { anyOf: [textOf(shape), listOf(textOf(shape))] };
    case 'number':
      return { type: 'integer', minimum: 1, maximum: shape.most };
    case 'choice':
      return { enum: [...shape.choices] };
    case 'route':
      return { type: 'string', pattern: `^(?:${PLAIN_ROUTES.join('|')}|ssh:.+)$` };
    case 'command':
      return { anyOf: [TEXT, listOf(TEXT)] };
    case 'variables':
      return {
        type: 'object',
        propertyNames: { pattern: '^[^=\\u0000-\\u001F\\u007F-\\u009F]+$' },
        additionalProperties: { type: ['string', 'number', 'boolean'] },
      };
  }
}

function textOf({ form }: Pick<Extract<Shape, { is: 'text' }>, 'form'>): JsonSchema {
  return form?.pattern === undefined ? TEXT : { type: 'string', pattern: form.pattern };
}

function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', minItems: 1, items };
}
