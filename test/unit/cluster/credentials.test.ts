import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createCredentials } from '../../../src/cluster/api/credentials.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { directoryWith } from '../controller/support/places.ts';

const KUBECONFIG = `
current-context: c
clusters: [{name: c, cluster: {server: 'https://c'}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: old}}]
`;

test('calls that are rejected at the same time are one failure, after which a login is tried again in half a minute', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const root = await directoryWith({ config: KUBECONFIG });
    const selected = await loadKubeconfig({ kubeconfig: join(root, 'config') }, {}, root);
    const credentials = await createCredentials(selected);
    await credentials.renew(credentials.current);
    for (let call = 0; call < 4; call++) expect(credentials.rejection().code).toBe('cluster.unauthorized');
    const rejected = credentials.current;
    await expect(credentials.renew(rejected)).rejects.toMatchObject({ code: 'cluster.unauthorized' });
    vi.advanceTimersByTime(31_000);
    await credentials.renew(rejected);
    expect(credentials.current).not.toBe(rejected);
  } finally {
    vi.useRealTimers();
  }
});
