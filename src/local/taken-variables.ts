import { dirname, join, resolve } from 'node:path';
import type { Checkout } from '../checkout/files.ts';
import type { Language, LinkedPackages } from '../checkout/language.ts';
import { namedVariables, PROGRAM_SOURCE } from '../checkout/named-variables.ts';
import { isAtOrBelow } from '../checkout/paths.ts';
import { readTextFile } from '../machine/text-file.ts';
import { isOfTheMachine } from './machine-variables.ts';

interface TakenFrom {
  checkout: Checkout;
  /** The command that starts the program. */
  run: string[];
  /** The language of a program that devloop found; absent for the user's own command. */
  language?: Pick<Language, 'sources' | 'variables'> | undefined;
  /** The program's packages, if its language tells. */
  linked?: LinkedPackages | undefined;
  /** Where the newest program of the checkout is kept. */
  keptProgram: string;
}

/** A ConfigMap can contain thousands of names, and each is looked for in all sources. */
export const MOST_VARIABLES = 300;

/**
 * The names of those variables of the container that the program gets. Whoever edits the Deployment, or a ConfigMap that it names, chooses
 * names and values, and the program that reads a variable decides what it does. So a variable has to be one of the program's own:
 *
 * - The sources of the checkout name it, or the user's own command does, or a source file that this command names.
 * - Or, for a program that devloop builds, a package that it links names it, and the value is plain: a library can take a path or a command
 *   for something to load or run. A secret that its SDK only sends may contain what base64 does.
 *
 * Variables that the machine interprets are never taken.
 */
export async function takenVariables(
  variables: Readonly<Record<string, string>>,
  { checkout, run, language, linked, keptProgram }: TakenFrom,
): Promise<Set<string>> {
  const names = Object.keys(variables)
    .filter((name) => !isOfTheMachine(name))
    .slice(0, MOST_VARIABLES);
  if (names.length === 0) return new Set();
  const { root } = checkout;
  const files = checkout.files((name) => (language?.sources ?? PROGRAM_SOURCE).test(name));
  const named = language
    ? []
    : run.filter((word) => PROGRAM_SOURCE.test(word)).map((file) => resolve(root, file));
  // What a bundler makes is large.
  const ofUser = named.map(async (path) => ({ path, text: await readTextFile(path) }));
  const sources = files.map((path) => ({ path, text: checkout.text(path) }));
  const packages = Map.groupBy([...sources, ...(await Promise.all(ofUser))], ({ path }) => dirname(path));
  const texts = [...packages.values()].map((all) => all.map(({ text }) => text));
  const taken = namedVariables(texts, names);
  if (!language)
    for (const name of names) if (run.some((word) => wordsIn(word).includes(name))) taken.add(name);
  const others = names.filter(
    (name) => !taken.has(name) && (isPlain(variables[name]!) || isSecret(name, variables[name]!)),
  );
  if (!linked || !language?.variables || others.length === 0) return taken;
  const directories = [...(await linked())]
    .filter(([path, directory]) => !isStandard(path, directory) && !isOwn(directory, root))
    .map(([, directory]) => directory);
  for (const name of await language.variables(directories, others, `${keptProgram}.variables`))
    taken.add(name);
  return taken;
}

/** The names in a word of the user's command: `--port=$PORT`, `PORT`. */
function wordsIn(word: string): string[] {
  return word.match(/[A-Za-z_]\w*/g) ?? [];
}

/** A package of Go's standard library is in the directory of that name. */
function isStandard(path: string, directory: string): boolean {
  return !path.split('/')[0]!.includes('.') && directory.endsWith(join('/src', path));
}

function isOwn(directory: string, root: string): boolean {
  return isAtOrBelow(directory, root) && !isAtOrBelow(directory, join(root, 'vendor'));
}

/** Of a URL with one of these schemes, a library can read only what a server answers. */
const OF_SERVERS = ['http:', 'https:', 'grpc:'];
const WORD = /^(?!\.)[\w.:@%+?[\]-]*$/;
const AUTHORITY = /^[\w.:@%[\]-]*[\w\]]$/;
const SEGMENT = /^[\w.%+-]*$/;

/** Whether a value is a word, a number, the URL of a server, or a list of these: nothing that leads out of the current directory. */
function isPlain(value: string): boolean {
  return !value.includes('..') && value.split(/[,=]/).every((part) => WORD.test(part) || isOfServer(part));
}

/** `new URL` alone would also take `http:/etc/shop` and `http:////etc/shop`, which other programs take for a path. */
function isOfServer(text: string): boolean {
  const [scheme, between, authority = '', ...segments] = text.split('/');
  if (!OF_SERVERS.includes(scheme!.toLowerCase()) || between !== '' || !AUTHORITY.test(authority))
    return false;
  const isSegment = (one: string, at: number): boolean =>
    SEGMENT.test(one) && (one !== '' || at === segments.length - 1);
  return segments.every(isSegment) && Boolean(URL.parse(text)?.hostname);
}

/**
 * What the SDKs of AWS and Azure define as a secret: they sign requests with it, or send it, and never take it for a path or a command. A
 * variable that only might be a secret does not belong here.
 */
const SECRETS = [
  /^AWS_(?:SECRET_ACCESS_KEY|SECRET_KEY|SESSION_TOKEN|SECURITY_TOKEN)$/,
  /^AZURE_(?:CLIENT_SECRET|STORAGE_KEY)$/,
];
/** Base64 has `/`, and secrets of Azure have `~`. What begins with one of them looks like a path. */
const SECRET = /^[A-Za-z0-9+][\w+/=~.-]*$/;

function isSecret(name: string, value: string): boolean {
  return SECRETS.some((row) => row.test(name)) && SECRET.test(value) && !value.includes('..');
}
