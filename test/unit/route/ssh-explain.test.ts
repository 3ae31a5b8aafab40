import { describe, expect, it } from 'vitest';
import { explain, type Findings, listeningOn } from '../../../src/route/ssh/explain.ts';

const listing = (...places: string[]): string =>
  places.map((place) => `LISTEN 0      128    ${place}      0.0.0.0:*    `).join('\n');

describe('the addresses that sshd listens on', () => {
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
    expect(listeningOn(listing(...places), 7443)).toEqual(expected);
  });
});

describe('why the cluster cannot reach a port', () => {
  const found = (more: Partial<Findings>) =>
    explain({
      via: 'dev@box',
      address: '10.0.0.1',
      port: 7443,
      dialled: 'silent',
      listening: undefined,
      ...more,
    });

  it.each<[string, Partial<Findings>, string, string]>([
    [
      'the cluster is blocked',
      { dialled: 'open', listening: 'everywhere' },
      '10.0.0.1:7443',
      'nodes and API servers',
    ],
    ['loopback only', { listening: 'loopback' }, 'loopback', 'GatewayPorts clientspecified'],
    ['loopback only, probably', { dialled: 'refused' }, 'loopback', 'GatewayPorts clientspecified'],
    ['a firewall', { listening: 'everywhere' }, 'firewall', 'TCP port 7443 of 10.0.0.1'],
    ['a firewall, probably', {}, 'firewall', 'TCP port 7443 of 10.0.0.1'],
    ['another address', { listening: ['10.9.9.9'], dialled: 'refused' }, '10.9.9.9', '--address'],
    ['IPv6', { address: '2001:db8::1' }, '[2001:db8::1]:7443', 'TCP port'],
  ])('%s', (_, findings, cause, hint) => {
    expect(found(findings).cause).toContain(cause);
    expect(found(findings).hint).toContain(hint);
  });

  it('is certain where the host says so, or refuses this machine, too', () => {
    expect(found({ listening: 'loopback' }).isCertain).toBe(true);
    expect(found({ dialled: 'refused' }).isCertain).toBe(true);
    expect(found({ dialled: 'open', listening: 'everywhere' }).isCertain).toBeUndefined();
  });
});
