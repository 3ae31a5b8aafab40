import { type Comparison, compareManifests } from '../../operator/manifests/compare.ts';
import { counted, manifestText } from '../../phrases.ts';
import { type Check, type Finding, NothingToCheck, neededOperator } from './check.ts';

/** Does the cluster have the CRDs, roles and webhook configurations of this checkout? `up` applies none. */
export const manifestsCheck: Check = {
  name: 'manifests',
  limitSeconds: 30,
  optional: true,
  async run({ context, operator, root }) {
    const {
      target,
      facts: { groups },
    } = await neededOperator(operator);
    const { api } = await context;
    return manifestFindings(await compareManifests({ api, root, groups, target }));
  },
};

/** One finding for each object that differs, or one for all if none does. */
export function manifestFindings({ compared, templates }: Comparison): Finding | Finding[] {
  const different = compared.filter(({ is }) => is !== 'same');
  if (different.length > 0)
    return different.map((one) => ({ verdict: 'warn', answer: manifestText(one), hint: APPLY }));
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

const APPLY =
  'devloop runs your code, but applies no manifests. Apply them as this project does, usually with: make manifests install';
