import { counted } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import { duration, oneLine } from './text.ts';

export function restoredText(event: Extract<DevloopEvent, { type: 'session.restored' }>): string {
  const { session, changes, ms, endMs = 0 } = event;
  if (changes === 0) return oneLine(`session ${session} had changed nothing`);
  // What is not noticed needs no words.
  const more = endMs < 1_000 ? '' : `; what ran on this machine took ${duration(endMs)} more to end`;
  return `${counted(changes, 'change')} in ${duration(ms)}${more}`;
}
