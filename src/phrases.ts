/** What messages and the printer say alike. */
import type { Writer } from './report/events.ts';

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `kubectl (Update, 2026-01-01T00:00:00Z)` */
export function writerText({ manager, operation, time }: Writer): string {
  return `${manager} (${[operation, time].filter(Boolean).join(', ')})`;
}
