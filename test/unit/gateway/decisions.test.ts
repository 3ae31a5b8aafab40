import { expect, test } from 'vitest';
import { afterFailure } from '../../../src/gateway/forward.ts';
import { forwardable } from '../../../src/gateway/http.ts';
import { probeNonce, probePath, readProbe } from '../../../src/gateway/probe.ts';

test('the nonce is read from the path of a probe, with and without a query', () => {
  expect(probeNonce(probePath('abc12345'))).toBe('abc12345');
  expect(probeNonce(`${probePath('abc12345')}?timeout=10s`)).toBe('abc12345');
});

test.each([
  '/validate',
  '/devloop/probe/',
  '/devloop/probe/short',
  '/devloop/probe/ABCDEFGH',
  '/devloop/probe/abc12345/x',
])('%s is not a probe', (url) => {
  expect(probeNonce(url)).toBeUndefined();
});

test('an invalid nonce is refused', () => {
  expect(() => probePath('../../x')).toThrow('not a nonce');
});

test('the denial is found in an error of kube-apiserver', () => {
  const text =
    'admission webhook "probe.devloop.dev" denied the request: devloop probe abc12345 reached session s-1.';
  expect(readProbe(text)).toEqual({ nonce: 'abc12345', session: 's-1' });
  expect(readProbe('connect: connection refused')).toBeUndefined();
});

test('hop-by-hop headers are not forwarded, nor those that Connection names', () => {
  const raw = [
    'Host',
    'a',
    'Connection',
    'close, X-Own',
    'x-own',
    '1',
    'Content-Length',
    '3',
    'X-Other',
    '2',
    'X-Other',
    '3',
  ];
  expect(forwardable(raw)).toEqual(['Host', 'a', 'X-Other', '2', 'X-Other', '3']);
});

test('a review waits for a controller that does not listen, and is resent a limited number of times where the connection ends', () => {
  expect(afterFailure({ code: 'ECONNREFUSED', message: '', connected: false, reused: false }, 99)).toBe(
    'wait',
  );
  expect(afterFailure({ code: 'ECONNRESET', message: '', connected: false, reused: false }, 99)).toBe('wait');
  expect(afterFailure({ code: 'ECONNRESET', message: '', connected: true, reused: false }, 0)).toBe('resend');
  expect(afterFailure({ code: 'ECONNRESET', message: '', connected: true, reused: false }, 4)).toBe(
    'give-up',
  );
  expect(afterFailure({ code: 'EPROTO', message: '', connected: false, reused: false }, 0)).toBe('give-up');
  expect(afterFailure({ code: undefined, message: '', connected: false, reused: false }, 0)).toBe('give-up');
});
