import type { LabelSelector } from './objects.ts';

export type Labels = Record<string, string>;

/** As the API's `labelSelector` and kubectl's `-l` take them: `app=shop,tier=web`. */
export function labelQuery(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** Whether all these labels are among `labels`. False where none is wanted: a Service without selector selects nothing. */
export function hasLabels(labels: Labels, wanted: Labels): boolean {
  const entries = Object.entries(wanted);
  return entries.length > 0 && entries.every(([key, value]) => labels[key] === value);
}

/**
 * Whether a selector selects these labels; an empty one selects everything. If `labels` are not all that the object has
 * (`areComplete` is false), true also where an unknown one decides.
 */
export function selects(selector: LabelSelector | undefined, labels: Labels, areComplete = true): boolean {
  const equal = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => {
    return { key, operator: 'In', values: [value] };
  });
  return [...equal, ...(selector?.matchExpressions ?? [])].every(({ key, operator, values = [] }) => {
    const value = labels[key];
    if (value === undefined && !areComplete) return true;
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    const isIn = value !== undefined && values.includes(value);
    return operator === 'In' ? isIn : !isIn;
  });
}
