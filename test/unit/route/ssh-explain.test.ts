import { describe, expect, it } from 'vitest';
import { boundTo, explainFindings, type Findings } from '../../../src/route/ssh/explain.ts';

const listing = (...places: string[]): string =>
  places.map((place) => `LISTEN 0      128    ${place}      0.0.0.0:*    `).join('\n');

describe('where sshd listens', () => {
  it.each([
    [['127.0.0.1:7443', '[::1]:7443'], 'loopback'],
    [['0.0.0.0:7443', '[::]:7443'], 'everywhere'],
    [['*:7443'], 'everywhere'],
    [
      ['127.0.0.1:7443', '10.0.0.1:7443'],
      ['127.0.0.1', '10.0.0.1'],
    ],
    [['10.0.0.1%eth0:7443'], ['10.0.0.1']],
    [['0.0.0.0:17443', '0.0.0.0:744'], undefined],
    [[], undefined],
  ])('%j: %j', (places, expected) => {
    expect(boundTo(listing(...places), 7443)).toEqual(expected);
  });
});

describe('why the cluster does not get through', () => {
  const found = (more: Partial<Findings>) =>
    explainFindings({
      via: 'dev@box',
      address: '10.0.0.1',
      port: 7443,
      dialled: 'silent',
      bound: undefined,
      ...more,
    });

  it.each<[string, Partial<Findings>, string, string]>([
    [
      'the tunnel stands',
      { dialled: 'open', bound: 'everywhere' },
      'but not from the cluster',
      'nodes and API servers',
    ],
    ['loopback only', { bound: 'loopback' }, 'loopback address only', 'GatewayPorts clientspecified'],
    ['loopback only, most likely', { dialled: 'refused' }, 'most likely', 'GatewayPorts clientspecified'],
    ['a firewall', { bound: 'everywhere' }, 'a firewall is in between', 'Open TCP port 7443 of 10.0.0.1'],
    ['perhaps a firewall', {}, 'a firewall keeps the port closed', 'Open TCP port 7443'],
    ['another address', { bound: ['10.9.9.9'], dialled: 'refused' }, 'on 10.9.9.9', 'name the address'],
    ['IPv6', { address: '2001:db8::1' }, '[2001:db8::1]:7443', 'Open TCP port'],
  ])('%s', (_, findings, cause, cure) => {
    expect(found(findings).cause).toContain(cause);
    expect(found(findings).hint).toContain(cure);
  });
});
