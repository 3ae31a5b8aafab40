import type { DevloopEvent } from './events.ts';

const ESC = '\\x1b';
const COLOUR = `(?<colour>${ESC}\\[[\\d;:]*m)`;
/** CSI: moves the cursor, erases, changes modes, asks the terminal questions. */
const CONTROL_SEQUENCE = `(?:${ESC}\\[|\\x9b)[0-?]*[ -/]*[@-~]`;
/** OSC and its kin: titles, links, the clipboard. */
const STRING = `(?:${ESC}[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\p{Cc}]*(?:\\x07|${ESC}\\\\|\\x9c)`;
const SHORT_SEQUENCE = `${ESC}[ -/]*[0-Z\\\\^-~]`;
/** By itself, or what is left of a sequence without its end. */
const CONTROL_CHARACTER = '[^\\P{Cc}\\t\\n]';
/** Turns the direction of writing, so that text reads as what it is not. */
const DIRECTION = '\\p{Bidi_Control}';

/** No part can match across the start of another, so the time is linear in the text. */
const UNSAFE = new RegExp(
  [COLOUR, CONTROL_SEQUENCE, STRING, SHORT_SEQUENCE, CONTROL_CHARACTER, DIRECTION].join('|'),
  'gu',
);

/** Text from outside, without what could move the cursor, hide what was shown, or make the terminal answer. */
export function safeText(text: string, keepColours = false): string {
  return text.replaceAll(UNSAFE, (found, ...rest) => {
    const { colour } = rest.at(-1) as { colour: string | undefined };
    return keepColours && colour !== undefined ? found : '';
  });
}

/** The event with all its texts made safe; only what the controller prints may keep its colours. */
export function safeEvent<E extends DevloopEvent>(event: E, colours: boolean): E {
  return safeValue(event, colours && event.type === 'controller.output') as E;
}

function safeValue(value: unknown, keepColours: boolean): unknown {
  if (typeof value === 'string') return safeText(value, keepColours);
  if (Array.isArray(value)) return value.map((item) => safeValue(item, keepColours));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, safeValue(item, keepColours)]));
}
