import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { renderController } from '../../../src/report/render-controller.ts';
import { serve } from '../../../src/session/serve.ts';
import { writeKubeconfig } from '../../../src/session/start/controller.ts';
import { settingsOf } from '../../support/settings.ts';
import { directoryWith } from '../controller/support/places.ts';

const KUBECONFIG = `
current-context: staging
clusters: [{name: s, cluster: {server: 'https://staging'}}, {name: p, cluster: {server: 'https://prod'}}]
contexts: [{name: staging, context: {cluster: s, user: a}}, {name: prod, context: {cluster: p, user: a}}]
users: [{name: a, user: {token: secret}}]
`;

it('a process that the user starts gets the cluster of the session, and no copy of a secret', async () => {
  const root = await directoryWith({ config: KUBECONFIG });
  const { pinned } = await loadKubeconfig({ kubeconfig: join(root, 'config') }, {}, root);
  const directory = join(root, 'session');
  const api = { pinned, kubeconfigFiles: [join(root, 'config')] };
  const files = await writeKubeconfig({ api, files: { directory } });
  expect(files).toEqual([join(directory, 'kubeconfig'), join(root, 'config')]);
  expect(await readFile(files![0]!, 'utf8')).not.toContain('secret');
  // Somebody chooses another context.
  const env = { KUBECONFIG: files!.join(':') };
  await writeFile(
    join(root, 'config'),
    KUBECONFIG.replace('current-context: staging', 'current-context: prod'),
  );
  expect(await loadKubeconfig({}, env, root)).toMatchObject({ server: 'https://staging' });
});

it('in a Pod, where there is no kubeconfig, none is written', async () => {
  const api = { pinned: {} as never, kubeconfigFiles: [] };
  expect(await writeKubeconfig({ api, files: { directory: '/nowhere' } })).toBeUndefined();
});

it('up prints the variable once reviews can arrive', async () => {
  const events: DevloopEvent[] = [];
  const ended = AbortSignal.abort();
  const emit = (event: DevloopEvent): void => void events.push(event);
  const target = { services: [], namespace: 'shop' };
  const context = { root: '/nowhere', settings: settingsOf() };
  const facts = { groups: new Set() };
  const session = { context, target, plan: { pause: [] }, facts, files: {}, options: {}, io: {} };
  const work = { emit, signal: ended };
  const serving = { work, pairs: new Map(), kubeconfig: ['/s/kubeconfig', '/my config'] };
  await serve(session as never, serving as never);
  const [, printed] = events;
  expect(printed).toEqual({ type: 'controller.kubeconfig', files: ['/s/kubeconfig', '/my config'] });
  expect(renderController(printed as never, ((_: string, text: string) => text) as never)).toContain(
    `KUBECONFIG='/s/kubeconfig:/my config'`,
  );
});
