import { expect, it } from 'vitest';
import { createPatience } from '../../../src/cluster/api/renewal-patience.ts';

const MINUTE = 60_000;
let time = 0;

/** A login that takes so long, with the kubeconfig at its end. */
function tried(
  patience: ReturnType<typeof createPatience>,
  ms: number,
  isInteractive = false,
  kubeconfig = 'a',
) {
  const end = patience.begin(isInteractive);
  time += ms;
  end(kubeconfig);
}

it('a plugin that goes on failing runs less and less often, but never stops', () => {
  time = 0;
  const patience = createPatience(() => time);
  const runs: number[] = [];
  for (; time < 60 * MINUTE; time += 1_000) {
    if (!patience.allows('a')) continue;
    tried(patience, 1_000);
    patience.failed();
    runs.push(time);
  }
  const pauses = runs.slice(1).map((at, index) => Math.round((at - runs[index]!) / 1000));
  expect(pauses.slice(0, 5)).toEqual([31, 61, 121, 241, 301]);
  expect(new Set(pauses.slice(5))).toEqual(new Set([301]));
});

it.each([
  ['is interactive', 100, true],
  ['took longer than 5 s', 5_001, false],
])(
  'one that %s runs again only if the user wants it, or the kubeconfig has changed',
  (_, ms, isInteractive) => {
    time = 0;
    const patience = createPatience(() => time);
    tried(patience, ms, isInteractive);
    expect(patience.allows('a')).toBe(true);
    tried(patience, ms, isInteractive);
    patience.failed();
    time += 60 * MINUTE;
    expect(patience.allows('a')).toBe(false);
    expect(patience.allows('b')).toBe(true);
    patience.reset();
    expect(patience.allows('a')).toBe(true);
  },
);

it('a login that has worked since counts no earlier failures', () => {
  time = 0;
  const patience = createPatience(() => time);
  for (let failure = 0; failure < 5; failure++) patience.failed();
  patience.worked();
  patience.failed();
  time += 30_000;
  expect(patience.allows('a')).toBe(true);
});
