import type { PathStep } from '../config/json-path.ts';

/** A step of a path that the user names, and the rest of that path. */
export interface NamedStep {
  step: PathStep;
  next: NamedStep | undefined;
}

export function namedSteps(paths: PathStep[][]): NamedStep[] {
  return paths.flatMap(
    (path) => path.reduceRight<NamedStep | undefined>((next, step) => ({ step, next }), undefined) ?? [],
  );
}

/** Adds the steps that are not among `steps` yet: without that check, a value inside many others would have more steps than the paths. */
export function withSteps(steps: NamedStep[], more: NamedStep[]): NamedStep[] {
  if (steps.length === 0 || more.length === 0) return steps.length === 0 ? more : steps;
  return [...new Set([...steps, ...more])];
}

/** The steps that continue below the value at `key`, and whether a path ends there. */
export function stepInto(steps: NamedStep[], key: string): { following: NamedStep[]; isNamed: boolean } {
  const taken = steps.filter(({ step }) => step.key === undefined || step.key === key);
  const still = steps.filter(({ step }) => step.isDeep);
  return {
    following: withSteps(
      still,
      taken.flatMap(({ next }) => next ?? []),
    ),
    isNamed: taken.some(({ next }) => next === undefined),
  };
}
