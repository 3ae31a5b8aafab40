import type { DevloopEvent, Progress } from './events.ts';
import { oneLine } from './text.ts';

export interface Terminal {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
  on?(event: 'resize', listener: () => void): unknown;
}

type Waiting = Extract<DevloopEvent, { type: 'waiting' }>;

const EVERY_SECONDS = 5;

/** Where no line can change in place (a log, CI), a wait is worth a line every few seconds. */
export function createWaitingTexts(): (event: Waiting) => boolean {
  let last: { for: string; seconds: number } | undefined;
  return (event) => {
    const goesOn = last?.for === event.for && event.seconds >= last.seconds;
    if (goesOn && event.seconds - last!.seconds < EVERY_SECONDS) return false;
    last = { for: event.for, seconds: event.seconds };
    return true;
  };
}

export function waitingText({ for: what, seconds, limitSeconds, progress }: Waiting): string {
  const limit = limitSeconds === undefined ? '' : `, at most ${Math.round(limitSeconds)} s`;
  const step = progress === undefined ? '' : `, ${progressText(progress)}`;
  return oneLine(`waiting for ${what} (${Math.round(seconds)} s${limit}${step})`).replaceAll('\t', ' ');
}

function progressText({ step, what, done, total }: Progress): string {
  if (step === 'linking') return `linking ${what}`;
  const unit = step === 'compiling' ? 'package' : 'module';
  return `${step} ${unit} ${done}${total === undefined ? '' : ` of ${total}`}: ${what}`;
}
