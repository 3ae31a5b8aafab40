import type { TrialEvent } from './events/trials.ts';
import type { DevloopEvent } from './events.ts';
import { isOfCrashtest, renderCrashtest } from './render-crashtest.ts';
import { isOfPlan, renderPlan } from './render-plan.ts';
import { isOfTest, renderTest } from './render-test.ts';
import type { Paint } from './text.ts';

export function isOfTrial(event: DevloopEvent): event is TrialEvent {
  return isOfTest(event) || isOfPlan(event) || isOfCrashtest(event);
}

export function renderTrial(event: TrialEvent, paint: Paint): string {
  if (isOfTest(event)) return renderTest(event, paint);
  return isOfPlan(event) ? renderPlan(event, paint) : renderCrashtest(event, paint);
}
