import { relative } from 'node:path';
import { manifestFiles } from '../../checkout/files.ts';
import type { Declared } from './objects.ts';
import { objectsIn } from './yaml.ts';

/** What an operator is made of. A checkout has more, such as samples and what its tests create. */
const KINDS = [
  ...['CustomResourceDefinition', 'ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'],
  ...['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'],
  ...['Service', 'ConfigMap', 'Secret', 'Deployment', 'StatefulSet', 'DaemonSet'],
];
/** Where operators have their manifests. */
const PLACES = /^(?:config|crds?|deploy|deployment|deployments|install|k8s|kubernetes|manifests|yaml)\//;
const SAMPLE = /(?:^|\/)(?:samples?|examples?)\//;
const DECLARES = new RegExp(`^kind:[ \\t]*["']?(?:${KINDS.join('|')})["']?[ \\t]*\\r?$`, 'm');
const TEMPLATE = /\{\{/;

/**
 * The objects of the YAML files of a checkout that has neither an overlay nor a bundle nor a chart, each once: what is generated now comes
 * first. `places`: the directories of the files.
 */
export async function plainObjects(
  root: string,
  generated?: string,
): Promise<{ objects: Declared[]; places: string[] }> {
  const found = new Map<string, Declared>();
  const places = new Set<string>();
  for (const base of [...(generated ? [generated] : []), root])
    for (const { name, text } of await plainFiles(base))
      for (const object of (await objectsIn(text, name)).filter(({ kind = '' }) => KINDS.includes(kind))) {
        const { kind, metadata } = object;
        const key = `${kind} ${metadata.namespace} ${metadata.name}`;
        if (!found.has(key)) found.set(key, object);
        places.add(name.split('/')[0]!);
      }
  return { objects: [...found.values()], places: [...places] };
}

async function plainFiles(base: string): Promise<{ name: string; text: string }[]> {
  return (await manifestFiles(base, DECLARES))
    .map(({ path, text }) => ({ name: relative(base, path), text }))
    .filter(({ name, text }) => PLACES.test(name) && !SAMPLE.test(name) && !TEMPLATE.test(text))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
