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

/** Two contexts; the first is the current one. */
const TWO = JSON.stringify({
  ...JSON.parse(KUBECONFIG),
  contexts: ['test', 'prod'].map((name) => ({ name, context: { cluster: 'test', user: 'test' } })),
});

async function opened(cwd: string, kubeconfig: string, context?: string): Promise<DevloopEvent[]> {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const io = { emit, signal: new AbortController().signal, env: { KUBECONFIG: kubeconfig }, cwd };
  await using _ = await openContext({ given: context === undefined ? {} : { context } }, io);
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
  expect(await found(join(root, 'cmd'))).toMatchObject({
    value,
    source: expect.stringContaining('parent directory'),
  });
});

it('an empty name of a context is not taken for none, and can be seen', async () => {
  const root = await directoryWith({});
  await writeFile(join(root, 'config'), KUBECONFIG);
  await expect(opened(root, join(root, 'config'), '')).rejects.toMatchObject({
    ...{ code: 'context.unknown', message: expect.stringContaining("Context '' is not in") },
  });
});

it('a context that only devloop.yaml names is told from the current one, from a flag and from the environment', async () => {
  const root = await directoryWith({ '.git/HEAD': '', 'devloop.yaml': 'context: prod\n', config: TWO });
  const KUBECONFIG = join(root, 'config');
  const instead = async (context?: string, env: Record<string, string> = {}) => {
    const io = {
      emit: () => {},
      signal: new AbortController().signal,
      env: { KUBECONFIG, ...env },
      cwd: root,
    };
    await using found = await openContext({ given: context === undefined ? {} : { context } }, io);
    return [found.api.context, found.insteadOf];
  };
  expect(await instead()).toEqual(['prod', 'test']);
  expect(await instead('prod')).toEqual(['prod', undefined]);
  expect(await instead(undefined, { DEVLOOP_CONTEXT: 'prod' })).toEqual(['prod', undefined]);
  await writeFile(join(root, 'devloop.yaml'), 'context: test\n');
  expect(await instead()).toEqual(['test', undefined]);
});

it('allowContexts refuses every other context, however it is chosen, but keeps nobody from restoring', async () => {
  const root = await directoryWith({
    '.git/HEAD': '',
    'devloop.yaml': 'allowContexts: [dev, test]\n',
    config: TWO,
  });
  await opened(root, join(root, 'config'));
  await expect(opened(root, join(root, 'config'), 'prod')).rejects.toMatchObject({
    ...{ code: 'context.refused', message: expect.stringContaining('prod') },
    hint: expect.stringContaining('--context test'),
  });
  const env = { KUBECONFIG: join(root, 'config') };
  const io = { emit: () => {}, signal: new AbortController().signal, env, cwd: root };
  await using found = await openContext({ given: { context: 'prod' } }, io, 'optional');
  expect(found.api.context).toBe('prod');
});

it('allowContexts does not refuse an API server of the session itself', async () => {
  const root = await directoryWith({ 'devloop.yaml': 'allowContexts: [dev]\n', config: TWO });
  const env = { KUBECONFIG: join(root, 'config') };
  const io = { emit: () => {}, signal: new AbortController().signal, env, cwd: root };
  const forever = new Promise<never>(() => {});
  await using found = await openContext(
    { given: {}, embedded: { ended: forever, ready: forever, serveOnly: async () => {} } },
    io,
  );
  expect(found.api.context).toBe('test');
});
