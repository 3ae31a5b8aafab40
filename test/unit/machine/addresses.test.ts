import { describe, expect, it } from 'vitest';
import {
  candidates,
  family,
  hostPort,
  refusal,
  sharedFamilies,
  within,
} from '../../../src/machine/addresses.ts';

describe('kube-apiserver accepts in an EndpointSlice', () => {
  it.each([
    '10.0.0.7',
    '192.168.1.2',
    '172.17.0.1',
    '100.64.0.1',
    '8.8.8.8',
    'fd00::7',
    '2001:db8::1',
    '2001:DB8:0:0:0:0:0:1',
  ])('%s', (address) => {
    expect(refusal(address)).toBeUndefined();
  });
});

describe('kube-apiserver rejects in an EndpointSlice', () => {
  it.each([
    ['', 'not an IP address'],
    ['localhost', 'not an IP address'],
    ['10.0.0.256', 'not an IP address'],
    ['10.0.0.7:443', 'not an IP address'],
    ['127.0.0.1', 'loopback'],
    ['127.9.9.9', 'loopback'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['::ffff:127.0.0.1', 'write it as IPv4'],
    ['::ffff:10.0.0.7', 'write it as IPv4'],
    ['::ffff:7f00:1', 'write it as IPv4'],
    ['169.254.169.254', 'link-local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['FE80:0:0:0:0:0:0:1', 'link-local'],
    ['febf::1', 'link-local'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['0:0:0:0:0:0:0:0', 'unspecified'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['ff02::1', 'multicast'],
  ])('%s', (address, why) => {
    expect(refusal(address)).toContain(why);
  });
});

it('knows the family of an address', () => {
  expect(family('10.0.0.1')).toBe('IPv4');
  expect(family('fd00::1')).toBe('IPv6');
});

it('puts brackets around an IPv6 address before a port, and around nothing else', () => {
  expect(hostPort('10.0.0.1', 443)).toBe('10.0.0.1:443');
  expect(hostPort('fd00::1', 443)).toBe('[fd00::1]:443');
  expect(hostPort('dev@bastion.example.com', 443)).toBe('dev@bastion.example.com:443');
});

describe('the families of several Services', () => {
  it.each([
    [[['IPv6', 'IPv4']], ['IPv6', 'IPv4']],
    [[['IPv4', 'IPv6'], ['IPv6']], ['IPv6']],
    [
      [['IPv4', 'IPv6'], [], ['IPv6', 'IPv4']],
      ['IPv4', 'IPv6'],
    ],
    [[[], []], []],
    [[['IPv4'], ['IPv6']], undefined],
  ])('%j share %j', (services, shared) => {
    expect(sharedFamilies(services)).toEqual(shared);
  });
});

describe('candidates', () => {
  const found = (...addresses: string[]) => addresses.map((address) => ({ address, source: 'test' }));
  const order = (families: string[], ...addresses: string[]): string[] =>
    candidates(found(...addresses), families).map((one) => one.address);

  it('are unique, those of the first family of the Service first, otherwise in the order they were found', () => {
    expect(order(['IPv6', 'IPv4'], '10.0.0.1', 'fd00::1', '10.0.0.1', '10.0.0.2')).toEqual([
      'fd00::1',
      '10.0.0.1',
      '10.0.0.2',
    ]);
    expect(order(['IPv4'], 'fd00::1', '10.0.0.1', '127.0.0.1')).toEqual(['10.0.0.1']);
    expect(order([], 'fd00::1', '10.0.0.1')).toEqual(['fd00::1', '10.0.0.1']);
  });
});

describe('within', () => {
  const allows = within(['10.1.0.0/16', '192.168.1.20', 'fd00::/8', '0.0.0.0/32']);

  it.each(['10.1.2.3', '::ffff:10.1.2.3', '192.168.1.20', 'fd12::1', 'fd12::1%eth0'])('%s is', (address) => {
    expect(allows(address)).toBe(true);
  });

  it.each(['10.2.0.1', '192.168.1.21', '::ffff:10.2.0.1', '2001:db8::1', '::1', '::a01:203'])(
    '%s is not',
    (address) => {
      expect(allows(address)).toBe(false);
    },
  );
});
