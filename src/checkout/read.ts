import { basename } from 'node:path';
import { type CheckoutFacts, noCheckoutFacts } from './facts.ts';
import type { Checkout, SourceText } from './files.ts';
import type { Language } from './language.ts';
import { isName, namesOfCheckout } from './names.ts';
import {
  collectImages,
  collectManifest,
  collectMarkers,
  collectTexts,
  MANIFEST_OR_TEMPLATE,
  RECIPE,
} from './text-facts.ts';

/** Sources of languages that devloop does not know are still searched for texts. */
const OTHER_SOURCE = /\.(?:java|rs|py|ts)$/;
const OTHERS = [MANIFEST_OR_TEMPLATE, RECIPE, OTHER_SOURCE];

/**
 * Reads the sources and YAML manifests of a checkout, and the sources beside it that its program is built from. What a language does not
 * find by itself is recognised as text: markers, groups and paths.
 */
export async function readCheckout(
  checkout: Checkout,
  languages: readonly Language[],
): Promise<CheckoutFacts> {
  let facts = noCheckoutFacts();
  const languageOf = (path: string): Language | undefined =>
    languages.find(({ files }) => files.test(basename(path)));
  const paths = checkout.files(
    (name) => OTHERS.some((one) => one.test(name)) || languageOf(name) !== undefined,
  );
  const byLanguage = Map.groupBy(paths, languageOf);
  const names = namesOfCheckout(checkout);
  for (const language of languages) {
    const own = byLanguage.get(language);
    if (own === undefined) continue;
    const { names: ofModules = [], outside = [], ...found } = await language.read(checkout, own);
    facts = joined(facts, found);
    names.push(...ofModules);
    paths.push(...outside);
  }
  for (const path of paths) collect({ path, text: checkout.text(path) }, languageOf(path), facts);
  takeMarkers(facts);
  for (const name of names.map((one) => one.toLowerCase())) if (isName(name)) facts.names.add(name);
  return facts;
}

/** Sources of several languages can name the same things. Of what can be only one, the first counts. */
function joined<T>(known: T, found: Partial<T>): T {
  const parts = Object.entries(found).map(([key, more]) => [key, joinedPart(known[key as keyof T], more)]);
  return { ...known, ...Object.fromEntries(parts) };
}

function joinedPart(known: unknown, more: unknown): unknown {
  if (known instanceof Set && more instanceof Set) return new Set([...known, ...more]);
  if (Array.isArray(known) && Array.isArray(more)) return [...known, ...more];
  return known instanceof Object && more instanceof Object ? joined(known, more) : known || more;
}

function collect(source: SourceText, language: Language | undefined, facts: CheckoutFacts): void {
  const name = basename(source.path);
  if (RECIPE.test(name)) collectImages(source, facts);
  else if (MANIFEST_OR_TEMPLATE.test(name)) collectManifest(source, facts);
  else if (language === undefined || language.sources.test(name)) {
    facts.hasSources = true;
    collectMarkers(source, facts);
    if (!language?.findsTexts) collectTexts(source, facts);
  }
}

/** The paths that controller-runtime makes from the group, the version and the name of a kind, so that no source names them. */
const MADE_PATH = /^\/(?:mutate|validate)-(?:[a-z0-9-]*-)?v\d[a-z0-9]*-[a-z0-9]+$/;

/** A marker is a comment, and can be out of date: a path that no source names, and that is not made from a kind, declares no webhook. */
function takeMarkers({ markerPaths, paths }: CheckoutFacts): void {
  const outdated = [...markerPaths].filter((path) => !MADE_PATH.test(path) && !paths.has(path));
  for (const path of markerPaths) paths.add(path);
  for (const path of outdated) markerPaths.delete(path);
}
