import { styleText } from 'node:util';
import type { Paint } from './text.ts';

export function createPaint(colours: boolean): Paint {
  return colours ? (colour, text) => styleText(colour, text, { validateStream: false }) : (_, text) => text;
}

/** FORCE_COLOR decides either way (`0` is off), as in Node itself; then NO_COLOR; then whether it is a terminal. */
export function wantsColours(env: Record<string, string | undefined>, isTerminal: boolean): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  if (FORCE_COLOR !== undefined) return !['0', 'false'].includes(FORCE_COLOR);
  return isTerminal && !NO_COLOR && TERM !== 'dumb';
}
