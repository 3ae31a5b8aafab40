import type { LabelSelector } from './objects.ts';

export type Labels = Record<string, string>;

/** Formats labels for the API's `labelSelector` and kubectl's `-l`: `app=shop,tier=web`. */
export function labelQuery(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** Whether all `wanted` labels are among `labels`. If `wanted` is empty, returns false: a Service without a selector selects nothing. */
export function hasLabels(labels: Labels, wanted: Labels): boolean {
  const entries = Object.entries(wanted);
  return entries.length > 0 && entries.every(([key, value]) => labels[key] === value);
}

/**
 * Whether a selector selects an object with these labels; an empty selector selects everything. If the object may have more labels
 * (`areComplete` is false), a requirement for an unknown label counts as met.
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
