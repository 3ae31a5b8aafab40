import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { openContext } from '../../../src/session/context/context.ts';
import { directoryWith } from '../controller/support/places.ts';

/** For a server that is never called. */
const KUBECONFIG = JSON.stringify({
  'current-context': 'test',
  clusters: [{ name: 'test', cluster: { server: 'https://127.0.0.1:1' } }],
  contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  users: [{ name: 'test', user: { token: 'test' } }],
});

async function opened(cwd: string, kubeconfig: string, context?: string): Promise<DevloopEvent[]> {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const io = { emit, signal: new AbortController().signal, env: { KUBECONFIG: kubeconfig }, cwd };
  await using _ = await openContext({ services: [], ...(context === undefined ? {} : { context }) }, io);
  return events;
}

it('says where devloop.yaml is', async () => {
  const root = await directoryWith({ '.git/HEAD': '', 'devloop.yaml': 'port: 9000\n', config: KUBECONFIG });
  await mkdir(join(root, 'cmd'));
  const found = async (cwd: string) =>
    (await opened(cwd, join(root, 'config'))).find(
      (one) => one.type === 'discovered' && one.what === 'setting',
    );
  const value = join(root, 'devloop.yaml');
  expect(await found(root)).toMatchObject({ value, source: 'in this directory' });
  expect(await found(join(root, 'cmd'))).toMatchObject({ value, source: 'found in a parent directory' });
});

it('an empty name of a context is not taken for none, and can be seen', async () => {
  const root = await directoryWith({});
  await writeFile(join(root, 'config'), KUBECONFIG);
  await expect(opened(root, join(root, 'config'), '')).rejects.toMatchObject({
    ...{ code: 'context.unknown', message: expect.stringContaining("Context '' is not in") },
  });
});
