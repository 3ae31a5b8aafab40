import { crdCommand } from '../../checkout/crd-command.ts';
import { type Comparison, compareManifests } from '../../operator/manifests/compare.ts';
import { counted } from '../../phrases.ts';
import type { ComparedManifest } from '../../report/manifest.ts';
import { manifestText } from '../../report/manifest.ts';
import { type Check, type Finding, NothingToCheck, neededOperator } from './check.ts';

/** Does the cluster have the CRDs, roles and webhook configurations of this checkout? `up` applies none. */
export const manifestsCheck: Check = {
  name: 'manifests',
  limitSeconds: 30,
  optional: true,
  async run({ context, operator }) {
    const {
      target,
      facts: { groups },
    } = await neededOperator(operator);
    const place = await context;
    const { api, root } = place;
    return await manifestFindings(place, await compareManifests({ api, root, groups, target }));
  },
};

/** One finding for each object that differs, or one for all if none does. */
export async function manifestFindings(
  place: { root: string; cwd: string },
  { compared, templates }: Comparison,
): Promise<Finding | Finding[]> {
  const different = compared.filter(({ is }) => is !== 'same');
  if (different.length > 0) {
    const apply = await crdCommand(place);
    return different.map((one) => ({ verdict: 'warn', answer: manifestText(one), ...next(one, apply) }));
  }
  const files = compared.map(({ object: { kind, name } }) => `${kind} ${name}`);
  if (files.length > 0)
    return {
      verdict: 'ok',
      answer: `the cluster has ${counted(files.length, 'object')} as in this checkout`,
      proof: files,
    };
  if (templates.length === 0) throw new NothingToCheck('this checkout has no manifests');
  const which = counted(templates.length, 'template');
  return {
    verdict: 'unknown',
    answer: `not compared: ${which} of a chart, whose values belong to a release`,
    proof: templates,
  };
}

/** `crds`: the command that applies the CRDs. It applies nothing else, and nothing that is only in the cluster is applied. */
function next({ object, is }: ComparedManifest, crds: string): Pick<Finding, 'hint'> {
  if (is === 'extra') return {};
  return { hint: object.kind === 'CustomResourceDefinition' ? crds : AS_A_WHOLE };
}

const AS_A_WHOLE =
  'devloop runs your code, but applies no manifests. Apply them as this project does, usually with: make deploy IMG=IMAGE';
