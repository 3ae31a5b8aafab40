import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { CheckoutFacts } from './checkout/facts.ts';
import { Checkout } from './checkout/files.ts';
import { GO } from './checkout/go/go.ts';
import type { BuildTool, Language } from './checkout/language.ts';
import { NODE } from './checkout/node/node.ts';
import { PYTHON } from './checkout/python/python.ts';
import { readCheckout } from './checkout/read.ts';
import { RUST } from './checkout/rust/rust.ts';

/** In the order in which they are looked for: a Go operator can have a website, and a Rust one scripts. */
export const LANGUAGES: readonly Language[] = [GO, RUST, PYTHON, NODE];

/** The language of the checkout's program; undefined if devloop knows none for it. */
export function languageOf(checkout: Checkout): Promise<Language | undefined> {
  return checkout.once(findLanguage);
}

async function findLanguage(checkout: Checkout): Promise<Language | undefined> {
  // Reading the sources takes a moment, so it ends with the first language that fits.
  for (const one of signedIn(checkout)) if ((await one.detect?.(checkout)) ?? true) return one;
  const below = LANGUAGES.filter((one) => one.isBelowRoot);
  const signs = new Set(below.flatMap((one) => one.signs));
  const [first] = checkout.files((name) => signs.has(name));
  return first === undefined ? undefined : below.find((one) => one.signs.includes(basename(first)));
}

/**
 * The nearest of these directories, each below the next, in which a program begins; for a package of a workspace, that of the workspace.
 * Every directory of a program can have sources such as `*.py`, so they begin none. The last directory is not read: it is the root if none
 * of the others is.
 */
export async function rootOfProgram(directories: string[]): Promise<string | undefined> {
  for (const [at, directory] of directories.slice(0, -1).entries())
    for (const one of LANGUAGES) {
      const isNamed = one.signs.some((sign) => existsSync(join(directory, sign)));
      if (!isNamed || !((await one.detect?.(new Checkout(directory))) ?? true)) continue;
      return nearestWorkspace(one, directories.slice(at)) ?? directory;
    }
  return undefined;
}

function nearestWorkspace({ workspace }: Language, directories: string[]): string | undefined {
  if (workspace?.locks.some((lock) => existsSync(join(directories[0]!, lock)))) return undefined;
  return directories.find((directory) => {
    const checkout = new Checkout(directory);
    return workspace?.signs.some(({ file, says }) => says.test(checkout.text(join(directory, file))));
  });
}

/** The languages of which the root of the checkout has a sign. */
function signedIn(checkout: Checkout): Language[] {
  const names = checkout.entries(checkout.root).map(({ name }) => name);
  return LANGUAGES.filter(({ signs }) => names.some((name) => signs.some((sign) => isSign(name, sign))));
}

/** A sign is a file's name, or `*.py`. */
function isSign(name: string, sign: string): boolean {
  return sign.startsWith('*') ? name.endsWith(sign.slice(1)) : name === sign;
}

/** The build tool of a command. */
export function toolOf(command: string[] | undefined): BuildTool | undefined {
  return command && LANGUAGES.find(({ tool }) => tool?.builds(command))?.tool;
}

/**
 * What the sources and manifests of the checkout reveal. A directory below it can hold a website, whose many files are neither read nor
 * taken for the operator's.
 */
export async function checkoutFacts(checkout: Checkout): Promise<CheckoutFacts> {
  const signed = signedIn(checkout);
  const readHere = LANGUAGES.filter((one) => one.isBelowRoot || signed.includes(one));
  const facts = await readCheckout(checkout, readHere);
  return { ...facts, language: await languageOf(checkout) };
}
