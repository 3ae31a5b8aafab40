import type { DevloopEvent } from '../report/events.ts';
import type { ReviewSummary } from '../report/review.ts';

export type AnsweringBuild = Pick<ReviewSummary, 'build' | 'isOldBuild' | 'package'>;

/** Which build answers now, according to the events. */
export interface Answering {
  observe(event: DevloopEvent): void;
  /** The build that answers now; empty until devloop has started a program. */
  now(): AnsweringBuild;
}

export function createAnswering(): Answering {
  let build: string | undefined;
  let isOldBuild = false;
  let goPackage: string | undefined;
  return {
    observe(event) {
      if (event.type === 'controller.started') [build, goPackage] = [event.build, event.package];
      if (event.type === 'build.failed' || event.type === 'build.reverted') isOldBuild = true;
      if (event.type === 'build.done') isOldBuild = false;
    },
    now() {
      if (build === undefined) return {};
      const from = goPackage === undefined ? {} : { package: goPackage };
      return { build, ...(isOldBuild ? { isOldBuild } : {}), ...from };
    },
  };
}

/** kube-apiserver truncates longer warnings. */
const LONGEST_WARNING = 120;

/** The warning that names the build that answered, if that is known. */
export function stampOf({ build, isOldBuild }: AnsweringBuild): string[] {
  if (build === undefined) return [];
  const text = isOldBuild
    ? `devloop: the old build ${build} answered; the newest does not build or start`
    : `devloop: build ${build} answered`;
  return [text.slice(0, LONGEST_WARNING)];
}
