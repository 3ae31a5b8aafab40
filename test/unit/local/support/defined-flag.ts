import type { Flag } from '../../../../src/checkout/flags.ts';

/** A flag in the sources; a switch if its default is a boolean. */
export function definedFlag(
  flag: string,
  value: NonNullable<Flag['value']>,
  place: Pick<Flag, 'directory' | 'command'>,
): Flag {
  return { flag, value, kind: typeof value as Flag['kind'], by: 'call', ...place };
}
