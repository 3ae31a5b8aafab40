import type { ApiCall } from '../api-proxy/api-call.ts';
import type { PathStep } from '../config/json-path.ts';
import { redact, TooMuchWork } from '../reviews/redact.ts';

/** More work than this takes a tenth of a second. */
const MOST_WORK = 50_000;

/** A copy without secrets; undefined if it would take too much work. `isSecret`: it is about a Secret, which metadata alone do not say. */
export function withoutSecrets<T>(value: T, isSecret: boolean, paths: PathStep[][]): T | undefined {
  try {
    return redact(value, { isSecret, paths, mostWork: MOST_WORK }).value;
  } catch (error) {
    if (error instanceof TooMuchWork) return undefined;
    throw error;
  }
}

export function isOfSecrets({ resource }: Pick<ApiCall, 'resource'>): boolean {
  return resource?.group === '' && resource.resource === 'secrets';
}
