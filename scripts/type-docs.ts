export interface Field {
  name: string;
  type: string;
  about: string;
}

export interface EventDoc {
  type: string;
  about: string;
  fields: Field[];
  /** The name of the interface that declares some of the event's fields. */
  more?: string;
}

/** A type that fields have: a union of texts, or an interface. */
export interface TypeDoc {
  name: string;
  about: string;
  values: string[];
  fields: Field[];
}

/** Parses the members of the unions of events, each with the comment above it. A member can have the fields of an interface, too. */
export function parseUnions(source: string): EventDoc[] {
  // The union of these unions names no event itself.
  const unions = source.matchAll(/export type \w+Event =\n(?! {2}\| \w)(.*?);\n(?=\n|\/\*\*|$)/gs);
  const members = [...unions]
    .map(([, union]) => union)
    .join('\n')
    .matchAll(
      /(?:\/\*\*(?<about>.*?)\*\/\s*)?\| \(?\{(?<body>(?:\{[^{}]*\}|[^{}])*)\}(?: & (?<more>\w+)\))?(?=\s|$)/gs,
    );
  return [...members].map(({ groups = {} }) => {
    const [type, ...fields] = parseFields(groups.body ?? '');
    const { about = '', more } = groups;
    const others = more === undefined ? [] : parseInterface(source, more);
    return {
      type: type?.type.slice(1, -1) ?? '',
      about: prose(about),
      fields: [...fields, ...others],
      ...(more !== undefined && { more }),
    };
  });
}

/** The types of the source that the fields of the events name, and the types that those name in turn, in this order. */
export function usedTypes(source: string, events: EventDoc[]): TypeDoc[] {
  const known = parseTypes(source);
  const used = new Set<TypeDoc>();
  const use = (fields: Field[]): void => {
    const words = fields.flatMap(({ type }) => type.match(/\b[A-Z]\w*/g) ?? []);
    for (const type of known.filter(({ name }) => words.includes(name) && !isIn(used, name))) {
      used.add(type);
      use(type.fields);
    }
  };
  for (const { fields } of events) use(fields);
  return [...used];
}

function isIn(types: Set<TypeDoc>, name: string): boolean {
  return [...types].some((one) => one.name === name);
}

function parseTypes(source: string): TypeDoc[] {
  const types = source.matchAll(
    /(?:\/\*\*(?<about>(?:(?!\*\/).)*)\*\/\n)?(?:export )?(?:type (?<alias>\w+) =(?<union>(?:\s*\|?\s*'[^']*')+);|interface (?<name>\w+) \{(?<body>.*?)\n\})/gs,
  );
  return [...types].map(({ groups = {} }) => {
    const { about = '', alias = '', union = '', body = '' } = groups;
    const values = [...union.matchAll(/'([^']*)'/g)].map(([, value = '']) => value);
    return { name: groups.name ?? alias, about: prose(about), values, fields: parseFields(body) };
  });
}

export function parseInterface(source: string, name: string): Field[] {
  return parseTypes(source).find((one) => one.name === name)?.fields ?? [];
}

/** A type can be an object with fields of its own. */
export function parseFields(body: string): Field[] {
  const fields = body.matchAll(
    /(?:\/\*\*(?<about>.*?)\*\/\s*)?(?<name>\w+\??): (?<type>(?:\{[^{}]*\}|[^;{}])+?)\s*(?:;|$)/gs,
  );
  return [...fields].map(({ groups: { name = '', type = '', about = '' } = {} }) => ({
    name,
    type,
    about: prose(about),
  }));
}

export function prose(comment: string): string {
  return comment.replaceAll(/\s*\n\s*\*\s*/g, ' ').trim();
}
