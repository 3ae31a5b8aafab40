import type { Language, Tree, TreeCursor } from 'web-tree-sitter';
import type { Expression, GoFile } from './nodes.ts';

/** No program nests deeper than this; what is deeper in a text is not read. */
const DEEPEST = 500;
const CONSTRAINT = '//go:build ';
export const OTHER: Expression = { kind: 'other' };

/** Reads the node at which a walk is: adds what it finds to the file, and returns what the node stands for. */
export type Reader = (walk: Walk) => Expression;

export function emptyFile(): GoFile {
  return {
    ...{ package: '', imports: [], constraint: '', strings: [], calls: [], composites: [] },
    ...{ assignments: [], fields: [], functions: [], cases: [], comparisons: [], sums: [] },
  };
}

/** What Go's grammar finds in a text, as lists of what questions are about. */
export function walked(tree: Tree, text: string, kinds: Kinds): GoFile {
  const cursor = tree.walk();
  try {
    const walk = new Walk(cursor, text, kinds);
    walk.read();
    return walk.file;
  } finally {
    cursor.delete();
  }
}

/** What is known about a node from its type, by the number of the type. Each question about the node itself calls WASM, which takes longer. */
export interface Kinds {
  types: string[];
  areNamed: boolean[];
  readers: (Reader | undefined)[];
}

export function kindsOf(grammar: Language, readers: ReadonlyMap<string, Reader>): Kinds {
  const { types } = grammar;
  const areNamed = types.map((_, id) => grammar.nodeTypeIsNamed(id));
  return { types, areNamed, readers: types.map((type) => readers.get(type)) };
}

/** A way through a tree. Its methods are about the node at which it is, and are called before those of the nodes in it. */
export class Walk {
  readonly file = emptyFile();
  /** Which function of the file contains this place; 0 for none. */
  within = 0;
  readonly #cursor: TreeCursor;
  readonly #text: string;
  readonly #kinds: Kinds;
  #type: number;
  #depth = 0;

  constructor(cursor: TreeCursor, text: string, kinds: Kinds) {
    this.#cursor = cursor;
    this.#text = text;
    this.#kinds = kinds;
    this.#type = cursor.nodeTypeId;
  }

  get type(): string {
    return this.#kinds.types[this.#type] ?? 'ERROR';
  }

  /** Its name in the node around it; null for none. */
  get field(): string | null {
    return this.#cursor.currentFieldName;
  }

  get end(): number {
    return this.#cursor.endIndex;
  }

  get text(): string {
    return this.#text.slice(this.#cursor.startIndex, this.#cursor.endIndex);
  }

  /** Of a node without a reader, such as a statement or what is not Go, only what it contains counts. */
  read(): Expression {
    const reader = this.#kinds.readers[this.#type];
    if (reader) return reader(this);
    this.each(() => this.read());
    return OTHER;
  }

  /** Calls `take` at each child that has a meaning. Returns the operator between them. */
  each(take: () => void): string {
    const cursor = this.#cursor;
    const { types, areNamed } = this.#kinds;
    let operator = '';
    if (this.#depth > DEEPEST || !cursor.gotoFirstChild()) return operator;
    this.#depth++;
    do {
      const type = cursor.nodeTypeId;
      this.#type = type;
      if (areNamed[type] === false) operator = types[type]!;
      else if (types[type] === 'comment') this.#takeConstraint();
      else take();
    } while (cursor.gotoNextSibling());
    cursor.gotoParent();
    this.#depth--;
    return operator;
  }

  /** What all children stand for. */
  all(): Expression[] {
    const values: Expression[] = [];
    this.each(() => values.push(this.read()));
    return values;
  }

  #takeConstraint(): void {
    const { file } = this;
    if (file.package !== '' || file.constraint !== '') return;
    const comment = this.text;
    if (comment.startsWith(CONSTRAINT)) file.constraint = comment.slice(CONSTRAINT.length).trim();
  }
}
