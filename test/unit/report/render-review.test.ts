import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { createHumanPrinter } from '../../../src/report/human.ts';
import type { ReviewSummary } from '../../../src/report/review.ts';
import { reviewOf, waitingReview } from '../../support/session-facts.ts';

const others: ReviewSummary = reviewOf(41, {
  object: { namespace: 'default', name: 'web' },
  ms: { held: 0, controller: 7, total: 7, budget: 10_000 },
});
const review: ReviewSummary = { ...others, isOwnUser: true };
/** In the terminal's time zone. */
const time = new Date(review.at).toTimeString().slice(0, 'hh:mm:ss'.length);

function printer(verbosity: 'quiet' | 'normal' | 'verbose' = 'normal', columns?: number) {
  const lines = { stdout: '', stderr: '' };
  const terminal = (name: keyof typeof lines) => ({
    ...(columns === undefined ? {} : { isTTY: true, columns }),
    write(text: string) {
      lines[name] += text;
    },
  });
  const printed = createHumanPrinter({
    stdout: terminal('stdout'),
    stderr: terminal('stderr'),
    env: columns === undefined ? {} : { NO_COLOR: '1' },
    verbosity,
  });
  return { lines, ...printed };
}

it.each<[string, Partial<ReviewSummary>, string]>([
  ['allowed', {}, 'allowed       <time>  CREATE Application default/web  vapplication  (7 ms)  r-000041'],
  [
    'answered by a build that is older than the sources',
    { build: '3f2a91c', isOldBuild: true },
    'allowed       <time>  CREATE Application default/web  vapplication  (7 ms, 3f2a91c)  the old build answered  r-000041',
  ],
  [
    'denied, with the reason, which names the object as API servers do',
    {
      ...{ verdict: 'denied', code: 422 },
      message: 'Application.apps.example.com "web" is invalid: spec.image:\n  Required value',
    },
    'denied        <time>  CREATE Application default/web  vapplication  spec.image: Required value  (7 ms)  r-000041',
  ],
  [
    'patched, the first four changes',
    { patch: ['+a=1', '~b', '-c', '+d', '+e', '+f'] },
    'allowed       <time>  CREATE Application default/web  vapplication  +a=1 ~b -c +d and 2 more  (7 ms)  r-000041',
  ],
  [
    'slow, and warned',
    {
      warnings: ['old field'],
      dryRun: true,
      ms: { held: 4000, controller: 1000, total: 5000, budget: 10_000 },
    },
    'allowed       <time>  CREATE Application default/web (dry run)  vapplication  warns: old field  (5.0 s of 10 s)  r-000041',
  ],
  [
    'for several webhooks, of which the review names none',
    { webhook: 'vapplication.kb.io, mapplication.kb.io' },
    'allowed       <time>  CREATE Application default/web  vapplication, mapplication  (7 ms)  r-000041',
  ],
  [
    'a conversion',
    {
      kind: 'conversion',
      verdict: 'converted',
      from: ['shop/v1'],
      to: 'shop/v2',
      objects: 14,
      webhook: 'apps.shop',
    },
    'converted     <time>  Application shop/v1 -> shop/v2, 14 objects  apps  (7 ms)  r-000041',
  ],
  [
    'no review',
    { kind: 'unreadable', verdict: 'failed', webhook: '/validate', message: 'no' },
    'failed        <time>  a request on /validate that is not a review  /validate  no  (7 ms)  r-000041',
  ],
])('is one line with its id: %s', (_, change, line) => {
  const { print, lines, close } = printer();
  print({ type: 'review', ...review, ...change });
  close();
  expect(lines).toEqual({ stdout: '', stderr: `${line.replace('<time>', time)}\n` });
});

it.each([
  ['ann@example.com', 'by ann@example.com'],
  ['system:serviceaccount:argocd:deployer', 'by argocd/deployer'],
  ['system:serviceaccount:kube-system:replicaset-controller', 'by replicaset-controller'],
  ['system:node:one', 'by node:one'],
  [`oidc:${'a'.repeat(40)}`, `by oidc:${'a'.repeat(25)}…`],
])('names the user %s shortly, and is readable in 100 columns', (user, named) => {
  const { print, lines, close } = printer('normal', 100);
  const patch = ['+spec.replicas=1', '~spec.image'];
  print({ type: 'review', ...others, user, patch, build: '3f2a91c 10:14:58 +dirty' });
  close();
  const shown = lines.stderr.trimEnd().split('\n');
  expect(shown.length).toBeLessThanOrEqual(3);
  expect(Math.max(...shown.map(({ length }) => length))).toBeLessThanOrEqual(100);
  const text = shown.join('').replaceAll(/\s+/g, ' ');
  expect(text).toContain(`allowed ${time} CREATE Application default/web ${named} vapplication`);
  expect(text).toMatch(/\(7 ms, 3f2a91c 10:14:58 \+dirty\) r-000041$/);
});

it('names its own account only in a list, and with --verbose', () => {
  for (const verbosity of ['normal', 'verbose'] as const) {
    const { print, lines, close } = printer(verbosity);
    print({ type: 'review', ...review });
    print({ type: 'reviews.listed', review });
    close();
    expect(lines.stderr.includes('by ann')).toBe(verbosity === 'verbose');
    expect(lines.stdout).toContain('default/web by ann  vapplication');
  }
});

it('counts those that say the same within a second, and prints the others', async () => {
  const { print, lines, close } = printer();
  for (let index = 0; index < 38; index++) print({ type: 'review', ...review });
  print({ type: 'review', ...review, verdict: 'denied', message: 'one' });
  print({ type: 'review', ...review, verdict: 'denied', message: 'other' });
  expect(lines.stderr.split('\n')).toHaveLength(8);
  await sleep(1_100);
  expect(lines.stderr).toContain(`allowed       ${time}  +33  CREATE Application  vapplication\n`);
  close();
});

it('of a flood that goes on, prints one line a second', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { print, lines, close } = printer();
  const rows = (count: number): string[] => {
    lines.stderr = '';
    for (let index = 0; index < count; index++) print({ type: 'review', ...review });
    vi.advanceTimersByTime(1_000);
    return lines.stderr.trimEnd().split('\n');
  };
  expect(rows(9)).toHaveLength(6);
  expect(rows(9)).toEqual([`allowed       ${time}  +9  CREATE Application  vapplication`]);
  rows(0);
  expect(rows(1)[0]).toContain('r-000041');
  close();
});

it("prints what it counted before the session's result", () => {
  const { print, lines } = printer();
  for (let index = 0; index < 7; index++) print({ type: 'review', ...review });
  print({ type: 'session.restored', session: 's', changes: 0, ms: 1 });
  expect(lines.stderr.trim().split('\n').at(-1)).toContain('restored');
  expect(lines.stderr).toContain('+2  CREATE Application');
});

it('prints the first ones that say the same in their order', () => {
  const { print, lines, close } = printer();
  const ids = ['r-000001', 'r-000002', 'r-000003', 'r-000004'];
  for (const [at, id] of ids.entries())
    print({ type: 'review', ...review, id, webhook: at % 2 === 0 ? 'm' : 'v' });
  close();
  expect(lines.stderr.match(/r-\d+/g)).toEqual(ids);
});

it('names the build only when it is not that of the row before', () => {
  const { print, lines, close } = printer();
  for (const build of ['b1', 'b1', 'b2', undefined, 'b2'])
    print({ type: 'review', ...review, ...(build && { build }), message: 'x' });
  close();
  expect(lines.stderr.match(/\(.*\)/g)).toEqual(['(7 ms, b1)', '(7 ms)', '(7 ms, b2)', '(7 ms)', '(7 ms)']);
});

const PATCH = ['+spec.enabled=true', '+spec.port=8080', '+spec.replicas=1'];

it.each<[columns: number, Partial<ReviewSummary>, rows: string[]]>([
  [
    140,
    { patch: PATCH },
    [
      'allowed       <time>  CREATE Application default/web  vapplication  +spec.enabled=true +spec.port=8080 +spec.replicas=1  (7 ms)  r-000041',
    ],
  ],
  [
    120,
    { patch: PATCH },
    [
      'allowed       <time>  CREATE Application default/web  vapplication  +spec.enabled=true and 2 more  (7 ms)  r-000041',
    ],
  ],
  [
    100,
    { patch: PATCH },
    ['allowed       <time>  CREATE Application default/web  vapplication  3 changes  (7 ms)  r-000041'],
  ],
  [
    100,
    { verdict: 'denied', message: 'spec.image: Required value: an Application needs an image' },
    [
      'denied        <time>  CREATE Application default/web  vapplication  spec.image: Required value: an',
      '              Application needs an image  (7 ms)  r-000041',
    ],
  ],
])('is one row in a terminal of %i columns if that can be: %j', (columns, change, rows) => {
  const { print, lines, close } = printer('normal', columns);
  print({ type: 'review', ...review, ...change });
  close();
  expect(lines.stderr.trimEnd().split('\n')).toEqual(rows.map((row) => row.replace('<time>', time)));
});

it.each<[DevloopEvent['type'], 'quiet' | 'verbose', Partial<ReviewSummary>, number]>([
  ['review', 'quiet', {}, 0],
  ['review', 'quiet', { verdict: 'unanswered' }, 1],
  ['review', 'verbose', {}, 2],
])('%s with --%s', (type, verbosity, change, count) => {
  const { print, lines, close } = printer(verbosity);
  print({ type, ...review, ...change } as DevloopEvent);
  if (verbosity === 'verbose') print({ type, ...review, ...change } as DevloopEvent);
  expect(lines.stderr.split('\n').length - 1).toBe(count);
  close();
});

it('names the first of the replayed reviews whose answers differ in the same way', () => {
  const { print, lines } = printer();
  const alike = ['a', 'b', 'c', 'd'].map((name) => ({ id: `r-${name}`, object: { namespace: 'ns', name } }));
  const named = 'Application.shop "web" is invalid: ';
  const differences = [{ title: 'message', text: `-${named}old\n+${named}new` }];
  print({ type: 'reviews.replayed', review, result: 'changed', differences, alike, asked: true });
  expect(lines.stdout).toBe(
    'changed       r-000041  CREATE Application default/web  vapplication  and 4 more like it: ns/a (r-a), ns/b (r-b), ns/c (r-c) and 1 more\n  message\n    -old\n    +new\n',
  );
});

it('lists and shows to stdout, and keeps what the cluster wrote from the terminal', () => {
  const { print, lines } = printer();
  print({ type: 'reviews.listed', review: { ...review, message: 'x', user: 'ann\x1b[2J' } });
  print({ type: 'reviews.shown', review, sections: [{ title: 'object', text: 'spec:\x1b[2J\n  a: 1' }] });
  expect(lines.stdout).not.toContain('\x1b');
  print({ type: 'reviews.waiting', review: waitingReview() });
  expect(lines.stdout).toMatch(
    /^ {10}\S+ {2}waiting .*default\/web-7 .*\(3\.2 s of 10 s, held until h, .*\)$/m,
  );
  expect(lines.stdout).toContain('r-000041');
  expect(lines.stdout).toContain('object\n  spec:\n    a: 1');
});
