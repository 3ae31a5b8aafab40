import type { DevloopEvent, Verdict } from './events.ts';
import { duration, indented } from './layout.ts';
import type { Colour, Paint } from './paint.ts';

type Finding = Extract<DevloopEvent, { type: 'finding' }>;

const COLOURS: Record<Verdict, Colour> = {
  ok: 'green',
  fail: 'red',
  warn: 'yellow',
  info: 'dim',
  unknown: 'dim',
};
const VERDICT_COLUMN = 8;
const CHECK_COLUMN = 16;
const TEXT_AT = VERDICT_COLUMN + CHECK_COLUMN + 2;

/** Verdict, check and answer in columns; proof and hint below the answer. The verdict is a word, so it reads without colours. */
export function renderFinding(
  { verdict, check, answer, proof, latencyMs, hint }: Finding,
  paint: Paint,
): string {
  const took = latencyMs === undefined ? '' : `  ${paint('dim', `(${duration(latencyMs)})`)}`;
  const mark = paint(COLOURS[verdict], verdict.padEnd(VERDICT_COLUMN));
  const below = ' '.repeat(TEXT_AT);
  return [
    `${mark} ${check.padEnd(CHECK_COLUMN)} ${indented(answer, TEXT_AT)}${took}`,
    ...(proof === undefined ? [] : [`${below}${paint('dim', indented(factsOf(proof), TEXT_AT))}`]),
    ...(hint === undefined ? [] : [`${below}${paint('bold', '→ next:')} ${indented(hint, TEXT_AT)}`]),
  ].join('\n');
}

/** One a line. */
function factsOf(proof: string): string {
  return proof.replaceAll('; ', '\n');
}
