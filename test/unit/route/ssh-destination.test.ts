import { expect, it } from 'vitest';
import { formatDestination, parseDestination } from '../../../src/route/ssh/destination.ts';

it.each([
  ['bastion', { host: 'bastion' }],
  ['dev@bastion.example.com', { user: 'dev', host: 'bastion.example.com' }],
  ['dev@10.0.0.1:2222', { user: 'dev', host: '10.0.0.1', port: 2222 }],
  ['[2001:db8::1]:22', { host: '2001:db8::1', port: 22 }],
  ['dev@corp@[fe80::1%eth0]', { user: 'dev@corp', host: 'fe80::1%eth0' }],
])('reads %s', (text, expected) => {
  expect(parseDestination(text)).toEqual(expected);
});

it.each([
  '',
  '@host',
  'dev@',
  'host:',
  'host:70000',
  'host:22:22',
  '2001:db8::1',
  '[host',
  '-oProxyCommand=evil',
  '-l@host',
  'a b',
  'a\nb',
  '[-x]',
])('refuses %j', (text) => {
  expect(() => parseDestination(text)).toThrow(expect.objectContaining({ code: 'usage.invalid' }));
});

it('writes the port if it is not 22', () => {
  expect(formatDestination('dev', 'host', 22)).toBe('dev@host');
  expect(formatDestination('dev', 'host', 2222)).toBe('dev@host:2222');
  expect(formatDestination('dev', '2001:db8::1', 2222)).toBe('dev@[2001:db8::1]:2222');
});
