import type { DevloopEvent } from './events.ts';

export interface Printer {
  print(event: DevloopEvent): void;
  /** Leaves the terminal as it should be; nothing is printed afterwards. */
  close(): void;
}
