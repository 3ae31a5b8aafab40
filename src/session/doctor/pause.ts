import type { PlannedChange } from '../../cluster/step.ts';
import { type Notice, pauseNotices } from '../../cluster/takeover/pause/notices.ts';
import { describe } from '../../report/object-name.ts';
import { changesOf } from '../route/routing.ts';
import { isCreatorPaused } from '../start/pause.ts';
import { type Check, type Finding, NotChecked, neededOperator } from './check.ts';

/** Can the in-cluster manager be paused, and how? */
export const pauseCheck: Check = {
  name: 'pause',
  limitSeconds: 30,
  async run(run) {
    const { target } = await neededOperator(run.operator);
    if (target.manager === undefined) throw new NotChecked('the target has no manager in the cluster');
    const notices = await pauseNotices((await run.context).api, target.manager, isCreatorPaused(target));
    return pauseFinding(describe(target.manager.ref), changesOf(await run.pause), notices);
  },
};

function pauseFinding(manager: string, changes: PlannedChange[], notices: Notice[]): Finding {
  if (changes.length === 0) {
    const answer = `${manager} is not paused (pause: none), so it works on the same objects as the controller here`;
    return { verdict: 'warn', answer };
  }
  const proof = changes.map(({ object, detail }) => `${describe(object)}: ${detail}`);
  const resuming = notices.flatMap((one) => (one.mayResume ? [one.note.message] : []));
  proof.push(...notices.flatMap((one) => (one.mayResume ? [] : [one.text])));
  const answer = [`${manager} can be paused`, ...resuming].join('\n');
  return { verdict: resuming.length > 0 ? 'warn' : 'ok', answer, proof };
}
