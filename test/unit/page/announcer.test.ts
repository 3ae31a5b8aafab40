import { expect, it } from 'vitest';
import { type Announced, Announcer } from '../../../src/page/announcer.ts';
import { reconcileOf, reviewOf, waitingReview } from '../../support/session-facts.ts';

const nothing = (): Announced => ({ reviews: [], recorded: [], warnings: [], waiting: [] });

it('says what went wrong since the last time, and nothing of what succeeded', () => {
  const announcer = new Announcer();
  const now = nothing();
  now.reviews.push(reviewOf(1, { verdict: 'denied', message: 'old' }));
  expect(announcer.next(now)).toBe('');
  const message = 'Application.shop.io "web-3" is invalid: spec.image: Required value';
  now.reviews.push(reviewOf(2), reviewOf(3, { verdict: 'denied', message }));
  now.recorded.push(reconcileOf(1), reconcileOf(2, { name: 'web', result: 'error', error: 'boom' }));
  expect(announcer.next(now)).toBe(
    'denied by vapplication: CREATE Application default/web-3: spec.image: Required value. reconcile failed: Application default/web: boom',
  );
  expect(announcer.next(now)).toBe('');
});

it('says a warning once, that reviews are held, and that a build failed', () => {
  const announcer = new Announcer();
  expect(announcer.next(nothing())).toBe('');
  const warning = { at: '', code: 'x', object: { kind: 'Pod', name: 'web' } };
  const held = [waitingReview()];
  const all = { ...nothing(), warnings: [{ ...warning, message: 'again 3 times' }], waiting: held };
  expect(announcer.next(all)).toBe('Warning: again 3 times. held: CREATE Application default/web-7');
  const status = { compiler: './main.go:3: undefined: x\nmore', state: {} as never };
  expect(announcer.next({ ...all, warnings: [{ ...warning, message: 'again 9 times' }], status })).toBe(
    'The build failed: ./main.go:3: undefined: x',
  );
});

it('counts what would take too long to say, and says an error once that is met again and again', () => {
  const announcer = new Announcer();
  expect(announcer.next(nothing())).toBe('');
  const reviews = [1, 2, 3, 4, 5].map((number) => reviewOf(number, { verdict: 'failed' }));
  expect(announcer.next({ ...nothing(), reviews })).toMatch(/web-3\. and 2 more$/);
  const recorded = [1, 2, 3, 4, 5].map((number) => reconcileOf(number, { name: 'web', result: 'error' }));
  expect(announcer.next({ ...nothing(), reviews, recorded })).toBe(
    'reconcile failed: Application default/web',
  );
});
