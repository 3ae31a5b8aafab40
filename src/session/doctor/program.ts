import { findMainPackage } from '../../controller/go/main-package.ts';
import { buildWithoutRun, mainPackageHints, ownTags } from '../../local/plan.ts';
import { type Check, type Finding, NotChecked, standingOn } from './check.ts';
import type { DiscoveredOperator, DoctorRun } from './operator.ts';

/** What would be built and run here? */
export function programCheck(
  { opened, io }: DoctorRun,
  operator: Promise<DiscoveredOperator>,
  toolchain: Promise<Finding>,
): Check {
  return {
    name: 'program',
    limitSeconds: 60,
    late: 'controller.no-main',
    async run(signal) {
      const { build, run } = opened.config.controller ?? {};
      if (run !== undefined)
        return { verdict: 'ok', answer: `runs ${run.join(' ')}`, proof: 'devloop.yaml: controller.run' };
      if (build !== undefined) throw buildWithoutRun();
      // go in a module that it is too old for would fetch a newer one.
      const judged = await toolchain.catch(() => undefined);
      if (judged?.verdict === 'fail' || judged?.verdict === 'warn')
        throw new NotChecked('Go does not fit the checkout yet');
      const target = await standingOn(operator, 'there is no target').then(
        (one) => one.target,
        () => undefined,
      );
      const main = await findMainPackage(opened.root, mainPackageHints(target, signal));
      const tags = ownTags(main, io.env);
      const proof = [main.source, ...(tags ? [`-tags=${tags.tags} as in ${tags.source}`] : [])].join('\n');
      return { verdict: 'ok', answer: `builds main package ${main.package}`, proof };
    },
  };
}
