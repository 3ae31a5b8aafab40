import { expect, test } from 'vitest';
import { routeChoice } from '../../../src/config/route-choice.ts';

test.each([
  ['auto', 'auto'],
  ['direct', 'direct'],
  ['relay', 'relay'],
  ['ssh:bastion', { ssh: 'bastion' }],
  ['ssh:dev@bastion.example.com:2222', { ssh: 'dev@bastion.example.com:2222' }],
  ['ssh:dev@[fd00::7]:2222', { ssh: 'dev@[fd00::7]:2222' }],
  ['ssh://dev@bastion', { ssh: 'dev@bastion' }],
])('%s is a route', (text, expected) => {
  expect(routeChoice(text)).toEqual(expected);
});

test.each([
  ['', 'nothing'],
  ['Direct', 'another word'],
  ['ssh', 'no host'],
  ['ssh:', 'an empty host'],
  ['ssh:dev@', 'a user alone'],
  ['ssh::22', 'a port alone'],
  ['ssh:-oProxyCommand=x', 'what ssh would take for an option'],
  ['ssh:dev@-oProxyCommand=x', 'what ssh would take for an option, behind a user'],
  ['ssh:a b', 'two words'],
  ['ssh:a:b:c', 'no port'],
  ['ssh:a:99999', 'a port beyond the last'],
  ['ssh:fd00::7', 'an IPv6 address without brackets'],
])('%j is none: %s', (text) => {
  expect(routeChoice(text)).toBeUndefined();
});
