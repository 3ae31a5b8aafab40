import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import type { Parser, Tree } from 'web-tree-sitter';
import { builtFile } from '../../../machine/own-program.ts';
import type { GoFile } from './nodes.ts';
import { READERS } from './readers.ts';
import { emptyFile, type Kinds, kindsOf, walked } from './walk.ts';

/** Only the build defines it. */
declare const DEVLOOP_VERSION: string | undefined;

/** Larger files are generated, or data. */
const MOST_CHARACTERS = 1_000_000;
/** Of processor time, so that other programs change no answer. A file that people write takes some milliseconds. */
const MOST_MICROSECONDS = 2_000_000;
/** Each look at the clock takes longer than the parser needs between two calls. */
const CALLS_PER_LOOK = 50;
/** No import comes after such a line, unless it is part of a comment. */
const END_OF_HEADER = /^(?:func|type|var|const)\b/m;
/** https://go.dev/s/generatedcode */
const GENERATED = /^\/\/ Code generated .* DO NOT EDIT\.\r?$/m;
const PACKAGE = /^package\b/m;

/**
 * Reads Go. A text that is not Go, or not yet, is read as far as it makes sense: nothing is thrown. A text that takes too long is read like
 * an empty one.
 */
export interface GoReader {
  /** Reads a file; of a generated one, which says nothing that people wrote, only the header. */
  file(text: string): GoFile;
  /** Reads a file, also a generated one. */
  whole(text: string): GoFile;
  /** The text without its comments; all of it, if that is not known. */
  code(text: string): string;
  /** Reads the package clause and the imports. */
  header(text: string): GoFile;
}

interface Grammar {
  parser: Parser;
  kinds: Kinds;
}

let loading: Promise<GoReader> | undefined;

/** Loads the parser when there is something to read for the first time. */
export function goReader(): Promise<GoReader> {
  loading ??= load();
  return loading;
}

async function load(): Promise<GoReader> {
  const { Language, Parser } = await import('web-tree-sitter');
  const [wasmBinary, grammar] = await Promise.all([
    wasm('web-tree-sitter/web-tree-sitter.wasm'),
    wasm('tree-sitter-go/tree-sitter-go.wasm'),
  ]);
  await Parser.init({ wasmBinary });
  const go = await Language.load(grammar);
  const known: Grammar = { parser: new Parser().setLanguage(go), kinds: kindsOf(go, READERS) };
  const whole = (text: string): GoFile => read(text, known) ?? emptyFile();
  const header = (text: string): GoFile => {
    const end = text.search(END_OF_HEADER);
    return (end < 0 ? undefined : read(text.slice(0, end), known, true)) ?? whole(text);
  };
  const code = (text: string): string => parsed(text, known, (tree) => withoutComments(tree, text)) ?? text;
  return { header, whole, code, file: (text) => (isWritten(text) ? whole(text) : header(text)) };
}

/** The build copies these files to the program. */
async function wasm(path: string): Promise<Uint8Array> {
  return typeof DEVLOOP_VERSION === 'string'
    ? await builtFile(basename(path))
    : await readFile(createRequire(import.meta.url).resolve(path));
}

/** Whether people wrote it, and no tool. */
export function isWritten(text: string): boolean {
  const start = text.slice(0, text.search(PACKAGE) + 1);
  return !GENERATED.test(start);
}

/** Undefined if that takes too long, or if the text has to be Go and is not. */
function read(text: string, known: Grammar, mustBeGo = false): GoFile | undefined {
  return parsed(text, known, (tree) =>
    mustBeGo && tree.rootNode.hasError ? undefined : walked(tree, text, known.kinds),
  );
}

function withoutComments({ rootNode }: Tree, text: string): string {
  let end = 0;
  const parts = rootNode.descendantsOfType('comment').map((comment) => {
    const part = text.slice(end, comment.startIndex);
    end = comment.endIndex;
    return part;
  });
  return [...parts, text.slice(end)].join('');
}

/** Undefined if that takes too long. */
function parsed<T>(text: string, { parser }: Grammar, use: (tree: Tree) => T): T | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  const start = process.cpuUsage();
  let calls = 0;
  const isTooLong = (): boolean => {
    if (++calls % CALLS_PER_LOOK > 0) return false;
    const { user, system } = process.cpuUsage(start);
    return user + system > MOST_MICROSECONDS;
  };
  const tree: Tree | null = parser.parse(text, null, { progressCallback: isTooLong });
  // Otherwise the next text would be taken for the rest of this one.
  if (tree === null) parser.reset();
  if (tree === null) return undefined;
  try {
    return use(tree);
  } finally {
    tree.delete();
  }
}
