import { relative } from 'node:path';
import { manifestFiles } from '../../checkout/files.ts';
import type { Declared } from './declared.ts';
import { objectsIn } from './yaml.ts';

/** What an operator is made of. A checkout has more, such as samples and what its tests create. */
const KINDS = [
  ...['CustomResourceDefinition', 'ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'],
  ...['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'],
  ...['Service', 'ConfigMap', 'Secret', 'Deployment', 'StatefulSet', 'DaemonSet'],
];
/** An operator has one of these. */
const MAIN_KINDS = new Set(
  KINDS.filter((kind) => /^CustomResource|^(?:Validating|Mutating)|^Deployment$|Set$/.test(kind)),
);
/** Samples have Deployments that show what an operator does with them, so these prove more. */
const OWN_KINDS = new Set(KINDS.filter((kind) => /^CustomResource|^(?:Validating|Mutating)/.test(kind)));
const USUAL = /^(?:config|crds?|deploy|deployment|deployments|install|k8s|kubernetes|manifests|yaml)\//;
const SAMPLE = /(?:^|\/)(?:samples?|examples?)\//;
/** Where operators have their manifests: the first of these places that has one of the kinds is used. */
const PLACES: { has: (name: string) => boolean; kinds: ReadonlySet<string> }[] = [
  { has: (name) => USUAL.test(name) && !SAMPLE.test(name), kinds: MAIN_KINDS },
  { has: (name) => !SAMPLE.test(name), kinds: MAIN_KINDS },
  { has: () => true, kinds: OWN_KINDS },
];
const DECLARES = new RegExp(`^kind:[ \\t]*["']?(?:${KINDS.join('|')})["']?[ \\t]*\\r?$`, 'm');
const YAML = /\.ya?ml$/;
/** What a script fills in, for example with the caBundle: `webhook.yaml.template`, `webhook.yaml.tpl`. */
const NAMES = /\.ya?ml(?:\.(?:template|tmpl|tpl|in))?$/;
const TEMPLATE = /\{[{%]|<%/;
/** What is below these is for a program or for people, who have templates of their own. */
const TEXTS = new Set(['annotations', 'data', 'description', 'stringData']);

/**
 * The objects of the YAML files of a checkout that has neither an overlay nor a bundle nor a chart, each once: what is generated now comes
 * first, and what a script fills in last. `places`: the directories of the files, or files in the root.
 */
export async function plainObjects(root: string, generated?: string): Promise<Plain> {
  const files = [...(generated ? await plainFiles(generated) : []), ...(await plainFiles(root))];
  let first: Plain | undefined;
  for (const { has, kinds } of PLACES) {
    const found = await objectsOf(files.filter(({ name }) => has(name)));
    if (found.objects.some(({ kind = '' }) => kinds.has(kind))) return found;
    first ??= found;
  }
  return first!;
}

interface Plain {
  objects: Declared[];
  places: string[];
}

async function objectsOf(files: PlainFile[]): Promise<Plain> {
  const found = new Map<string, Declared>();
  const places = new Set<string>();
  for (const { name, text } of files)
    for (const object of await knownObjects(name, text)) {
      const { kind, metadata } = object;
      const key = `${kind} ${metadata.namespace} ${metadata.name}`;
      if (!found.has(key)) found.set(key, object);
      places.add(name.split('/')[0]!);
    }
  return { objects: [...found.values()], places: [...places] };
}

/** Before it is filled in, a template may be no YAML. */
async function knownObjects(name: string, text: string): Promise<Declared[]> {
  const reading = objectsIn(text, name);
  const mayBeTemplate = TEMPLATE.test(text);
  const all = YAML.test(name) && !mayBeTemplate ? await reading : await reading.catch(() => []);
  const known = all.filter(({ kind = '' }) => KINDS.includes(kind));
  return mayBeTemplate ? known.filter((object) => !isTemplate(object)) : known;
}

function isTemplate(value: unknown): boolean {
  if (typeof value === 'string') return TEMPLATE.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, one]) => TEMPLATE.test(key) || (!TEXTS.has(key) && isTemplate(one)),
  );
}

interface PlainFile {
  /** Relative to the root. */
  name: string;
  text: string;
}

async function plainFiles(base: string): Promise<PlainFile[]> {
  return (await manifestFiles(base, DECLARES, NAMES))
    .map(({ path, text }) => ({ name: relative(base, path), text }))
    .sort((a, b) => Number(YAML.test(b.name)) - Number(YAML.test(a.name)) || (a.name < b.name ? -1 : 1));
}
