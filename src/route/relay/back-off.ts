/** First wait and longest wait before another dial, in ms. */
const FIRST = 100;
const LONGEST = 5000;

/** How long to wait after so many failures in a row, in ms: at once after none, then longer and longer, with jitter. `random` is in [0, 1). Pure. */
export function redialDelay(failures: number, random: number): number {
  if (failures === 0) return 0;
  const base = Math.min(LONGEST, FIRST * 2 ** Math.min(failures - 1, 16));
  return base * (0.5 + random / 2);
}
