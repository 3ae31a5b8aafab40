import { describe, expect, it } from 'vitest';
import { directAddresses, isOwn, ownAddresses } from '../../../src/route/direct.ts';

describe('direct addresses', () => {
  const options = { server: 'https://127.0.0.1:6443', nodes: [], families: ['IPv4'] };

  it('are empty if this machine reaches the cluster over loopback only, or its name is unknown', async () => {
    expect(await directAddresses(options)).toEqual([]);
    expect(await directAddresses({ ...options, server: 'https://no-such-host.invalid' })).toEqual([]);
  });

  it('are the one that the user chose, unless kube-apiserver rejects it in endpoints', async () => {
    expect(await directAddresses({ ...options, address: '203.0.113.9' })).toEqual([
      { address: '203.0.113.9', source: 'named by you' },
    ]);
    expect(await directAddresses({ ...options, address: 'FD00:0:0::7%eth0' })).toEqual([
      { address: 'fd00::7', source: 'named by you' },
    ]);
    await expect(directAddresses({ ...options, address: '::1' })).rejects.toMatchObject({
      code: 'route.address',
      message: expect.stringContaining('loopback'),
    });
  });

  it('are recognized as addresses of this machine or of another', () => {
    expect(isOwn('127.0.0.1')).toBe(true);
    expect(isOwn('203.0.113.9')).toBe(false);
    expect(ownAddresses().every(isOwn)).toBe(true);
  });
});
