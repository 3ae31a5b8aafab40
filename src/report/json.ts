import { jsonEscape } from '../phrases.ts';
import type { Printer } from './human.ts';

/** Increased when a field is removed or changes its meaning, but not for new events and new fields. */
const VERSION = 1;

/** One JSON object per line. Characters that JSON leaves raw, but a terminal or line reader would act on, are escaped. */
export function createJsonPrinter(write: (text: string) => void, now: () => Date): Printer {
  return {
    print(event, deployment) {
      const line = JSON.stringify({ v: VERSION, at: now().toISOString(), deployment, ...event });
      write(`${line.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, jsonEscape)}\n`);
    },
    close() {},
  };
}
