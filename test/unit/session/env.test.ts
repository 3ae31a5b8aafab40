import { mkdir, mkdtemp, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { render } from '../../../src/report/render.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { environmentOf } from '../../../src/session/control/environment.ts';
import { openSocket } from '../../../src/session/control/socket.ts';
import { env } from '../../../src/session/env.ts';
import { partly } from '../../support/partly.ts';

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'state-'));
});
afterEach(() => rm(state, { recursive: true }));

type Described = Parameters<typeof environmentOf>[0];

function session(kubeconfigFiles: string[], embedded?: object): Described {
  const pinned = {
    cluster: { name: 'kind', server: 'https://127.0.0.1:6443' },
    context: { name: 'kind-shop', cluster: 'kind', user: 'ann' },
  };
  return partly<Described>({
    context: { root: state, api: { context: 'kind-shop', pinned, kubeconfigFiles } },
    ...{ files: { directory: state }, options: { embedded }, io: { env: { HOME: state } } },
  });
}

async function envIn(
  cwd: string,
  existingCluster: boolean,
): Promise<Extract<DevloopEvent, { type: 'environment' }>> {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const { signal } = new AbortController();
  await env({ existingCluster }, { cwd, env: { XDG_STATE_HOME: state }, emit, signal });
  return events[0] as never;
}

it('of a session on a cluster, it pins the context, and has no credentials itself', async () => {
  const { kubeconfig = '', ...found } = await environmentOf(session(['/home/ann/.kube/config']));
  expect(found).toEqual({ context: 'kind-shop', isEmbedded: false });
  const [own, ...others] = kubeconfig.split(':');
  expect(others).toEqual(['/home/ann/.kube/config']);
  expect((await stat(own!)).mode & 0o777).toBe(0o600);
  const written = JSON.parse(await readFile(own!, 'utf8'));
  expect(written['current-context']).toBe('kind-shop');
  expect(written.users).toBeUndefined();
  expect(await environmentOf(session([]))).not.toHaveProperty('kubeconfig');
});

it('whoever reads the kubeconfig meanwhile reads all of it', async () => {
  const asked = () => environmentOf(session(['/home/ann/.kube/config']));
  const own = (await asked()).kubeconfig!.split(':')[0]!;
  await using reading = await open(own);
  await utimes(own, 1, 1);
  await asked();
  expect((await reading.stat()).mtimeMs).toBe(1000);
});

it('of an embedded session, it is the kubeconfig of its API server, with the programs of envtest', async () => {
  const assets = join(state, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver']) await writeFile(join(assets, name), '', { mode: 0o755 });
  const described = session(['/state/embedded.kubeconfig'], {});
  described.io.env.KUBEBUILDER_ASSETS = assets;
  expect(await environmentOf(described)).toEqual({
    ...{ context: 'kind-shop', isEmbedded: true },
    ...{ kubeconfig: '/state/embedded.kubeconfig', assets },
  });
});

it.each([true, false])(
  'suites may use only an API server of the session itself: embedded %s',
  async (isEmbedded) => {
    const cwd = await mkdtemp(join(state, 'here-'));
    await expect(envIn(cwd, false)).rejects.toMatchObject({ code: 'session.not-found' });
    const found = { context: "kind's", kubeconfig: '/a b/config', assets: '/bin', isEmbedded };
    const directory = await claimDirectory(await thisMachine({ XDG_STATE_HOME: state }), 'aaaa1111', {
      checkout: cwd,
    });
    await using _ = await openSocket(directory, { environment: async () => found }, () => {});
    const plain = await envIn(cwd, false);
    expect(plain.variables).toEqual({ KUBECONFIG: '/a b/config', KUBEBUILDER_ASSETS: '/bin' });
    const lines = render(plain, (_, text) => text).split('\n');
    expect(lines.filter((line) => !line.startsWith('#'))).toEqual([
      "export KUBECONFIG='/a b/config'",
      'export KUBEBUILDER_ASSETS=/bin',
    ]);
    const asked = envIn(cwd, true);
    if (isEmbedded) expect((await asked).variables.USE_EXISTING_CLUSTER).toBe('true');
    else await expect(asked).rejects.toMatchObject({ code: 'usage.invalid' });
  },
);
