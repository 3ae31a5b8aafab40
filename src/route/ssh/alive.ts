import type { Duplex } from 'node:stream';

/**
 * Calls `dead` once nothing at all has arrived for `count` + 1 rounds of `seconds`, while ssh2 asks in every round. Any data
 * counts: behind a full send buffer an answer may take long. Rounds are counted, not time: a process that was stopped for a
 * while has not listened.
 */
export function watchAlive(
  stream: Duplex,
  { seconds, count }: { seconds: number; count: number },
  dead: () => void,
): void {
  let heard = false;
  let silent = 0;
  stream.on('data', () => {
    heard = true;
  });
  const timer = setInterval(() => {
    silent = heard ? 0 : silent + 1;
    heard = false;
    if (silent <= count) return;
    clearInterval(timer);
    dead();
  }, seconds * 1000);
  stream.once('close', () => clearInterval(timer));
}
