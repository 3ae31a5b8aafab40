import { basename, dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Checkout } from '../files.ts';
import type { FoundFacts } from '../language.ts';
import { isName } from '../names.ts';
import { goFiles } from './files.ts';
import { type GoModule, wordAfter } from './go-mod.ts';
import { importedSources, localModules } from './local-modules.ts';
import { factsOf } from './operator-facts.ts';
import { type GoSource, goSources } from './sources.ts';

/** How many files are parsed before other work gets its turn, such as the cluster's answers. */
const IN_A_ROW = 16;

/** Reads the Go sources of a checkout, and those of the packages that they import from modules beside it: API types can be in one. */
export async function readGoSources(checkout: Checkout, paths: string[]): Promise<FoundFacts> {
  const [files, beside] = await Promise.all([goFiles(checkout), localModules(checkout.root)]);
  const [goMods, own] = [paths.filter(isGoMod), paths.filter((path) => !isGoMod(path))];
  const modules = goMods.map((path): GoModule => {
    const module = wordAfter('module', checkout.text(path)) ?? '';
    return { directory: dirname(path), path: module };
  });
  const sources: GoSource[] = [];
  for (const [index, path] of own.entries()) {
    if (index % IN_A_ROW === 0) await setImmediate();
    sources.push(files.source(path));
  }
  const outside = importedSources(checkout, sources, { beside, files });
  sources.push(...outside.map((path) => files.source(path)));
  const facts = factsOf(goSources(sources, [...modules, ...beside]));
  const markers = sources.flatMap(({ path }) => checkout.text(path).match(MARKER) ?? []);
  for (const marker of markers) for (const [, name] of marker.matchAll(QUOTED_NAME)) facts.quoted.add(name!);
  const root = modules.find(({ directory }) => directory === checkout.root);
  return {
    ...facts,
    declaresWebhooks: facts.declaresWebhooks || markers.length > 0,
    names: root === undefined ? [] : [nameOfModule(root.path)],
    outside,
  };
}

function isGoMod(path: string): boolean {
  return basename(path) === 'go.mod';
}

const MARKER = /\+kubebuilder:webhook:.*/g;
const QUOTED_NAME = /"([a-z0-9]+(?:[.-][a-z0-9]+){1,20})"/g;

/** In example.com/acme/shop/operator, the operator's name is shop, not the host or the organization. In example.com/shop/webhook, it is shop-webhook. */
function nameOfModule(module: string): string {
  const path = module.replace(/\/v\d+$/, '').split('/');
  const parts = path.length > 2 ? path.slice(2) : path.slice(-1);
  return parts.findLast((part) => isName(part.toLowerCase())) ?? path.slice(1).slice(-2).join('-');
}
