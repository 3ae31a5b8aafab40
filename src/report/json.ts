import type { Printer } from './human.ts';

/** Raised when a field changes its meaning or goes; new events and new fields do not raise it. */
const VERSION = 1;

/** One JSON object a line. What JSON leaves raw and a terminal or a line reader would act on is escaped, so nothing is lost. */
export function createJsonPrinter(write: (text: string) => void, now: () => Date): Printer {
  return {
    print(event) {
      const line = JSON.stringify({ v: VERSION, at: now().toISOString(), ...event });
      write(`${line.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, escaped)}\n`);
    },
    close() {},
  };
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
