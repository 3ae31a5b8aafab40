import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createCredentials } from '../../../src/cluster/api/credentials.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { readKubeconfig } from '../../../src/cluster/api/kubeconfig-file.ts';
import { pinnedKubeconfig } from '../../../src/cluster/api/pinned.ts';
import { clusterEntry } from '../../support/kubeconfig-entries.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'devloop-kubeconfig-'));
  await writeFile(join(directory, 'ca.pem'), 'CA');
});
afterEach(async () => await rm(directory, { recursive: true, force: true }));

interface Parts {
  current?: string;
  /** context -> cluster */
  contexts?: Record<string, string>;
  /** cluster -> server */
  clusters?: Record<string, string>;
  namespace?: string;
}

async function write(
  name: string,
  { current, contexts = {}, clusters = {}, namespace }: Parts,
): Promise<string> {
  const file = join(directory, name);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    ...(current === undefined ? {} : { 'current-context': current }),
    contexts: Object.entries(contexts).map(([context, cluster]) => ({
      name: context,
      context: { cluster, user: 'u', ...(namespace ? { namespace } : {}) },
    })),
    clusters: Object.entries(clusters).map(([cluster, server]) => ({
      name: cluster,
      cluster: { server, 'certificate-authority': 'ca.pem' },
    })),
    users: [{ name: 'u', user: { token: name } }],
  };
  await writeFile(file, stringify(config));
  return file;
}

const load = (env: Record<string, string>, choice: { kubeconfig?: string; context?: string } = {}) =>
  loadKubeconfig(choice, { HOME: directory, ...env }, directory);

describe('the kubeconfig file', () => {
  it('is kubeconfig.missing where there is none, with every path that was tried', async () => {
    await expect(load({})).rejects.toMatchObject({
      code: 'kubeconfig.missing',
      message: expect.stringContaining(join(directory, '.kube', 'config')),
    });
    await expect(load({ KUBECONFIG: ['a', 'b'].join(delimiter) })).rejects.toMatchObject({
      message: expect.stringMatching(/\/a or .*\/b/),
    });
    await expect(load({}, { kubeconfig: 'named' })).rejects.toMatchObject({
      code: 'kubeconfig.missing',
      message: expect.stringContaining('named'),
    });
  });

  it('is the named one, then KUBECONFIG, then that of the home directory', async () => {
    await mkdir(join(directory, '.kube'));
    await writeFile(join(directory, '.kube', 'ca.pem'), 'CA');
    await write('.kube/config', {
      current: 'home',
      contexts: { home: 'c' },
      clusters: { c: 'https://home' },
    });
    await write('env', { current: 'env', contexts: { env: 'c' }, clusters: { c: 'https://env' } });
    await write('flag', { current: 'flag', contexts: { flag: 'c' }, clusters: { c: 'https://flag' } });
    expect((await load({})).server).toBe('https://home');
    expect((await load({ KUBECONFIG: '' })).server).toBe('https://home');
    expect((await load({ KUBECONFIG: 'env' })).server).toBe('https://env');
    expect(await load({ KUBECONFIG: 'env' }, { kubeconfig: 'flag' })).toMatchObject({
      server: 'https://flag',
      files: [join(directory, 'flag')],
    });
  });
});

describe('a list of files', () => {
  it('is merged: the first entry of a name and the first current context win, and a missing file is skipped', async () => {
    await write('a', { contexts: { one: 'c' }, clusters: { c: 'https://a' }, namespace: 'from-a' });
    await write('b', {
      current: 'two',
      contexts: { one: 'd', two: 'd' },
      clusters: { c: 'https://b', d: 'https://d' },
    });
    const env = { KUBECONFIG: ['a', 'missing', 'b'].join(delimiter) };
    expect(await load(env)).toMatchObject({ context: 'two', server: 'https://d', namespace: 'default' });
    const one = await load(env, { context: 'one' });
    expect(one).toMatchObject({
      server: 'https://a',
      namespace: 'from-a',
      files: [join(directory, 'a'), join(directory, 'b')],
    });
    expect(one.user.token).toBe('a');
  });

  it('can contain an empty file, as with kubectl', async () => {
    await writeFile(join(directory, 'empty'), '');
    await write('b', { current: 'two', contexts: { two: 'd' }, clusters: { d: 'https://d' } });
    expect((await load({ KUBECONFIG: ['empty', 'b'].join(delimiter) })).context).toBe('two');
  });
});

describe('the context', () => {
  it('is context.unknown with the list of contexts when the requested one does not exist', async () => {
    await write('a', { current: 'one', contexts: { one: 'c', two: 'c' }, clusters: { c: 'https://a' } });
    await expect(load({ KUBECONFIG: 'a' }, { context: 'three' })).rejects.toMatchObject({
      code: 'context.unknown',
      message: expect.stringContaining('one, two'),
    });
  });

  it('is kubeconfig.invalid when none was chosen', async () => {
    await write('a', { contexts: { one: 'c' }, clusters: { c: 'https://a' } });
    await expect(load({ KUBECONFIG: 'a' })).rejects.toMatchObject({
      code: 'kubeconfig.invalid',
      message: expect.stringContaining('no current context'),
      hint: expect.stringContaining('use-context'),
    });
    await writeFile(join(directory, 'empty'), '');
    await expect(load({ KUBECONFIG: 'empty' })).rejects.toMatchObject({
      code: 'kubeconfig.invalid',
      message: expect.stringContaining('no contexts'),
      hint: expect.not.stringContaining('use-context'),
    });
  });

  it('is kubeconfig.invalid when its cluster does not exist', async () => {
    await write('a', { current: 'one', contexts: { one: 'gone' }, clusters: { c: 'https://a' } });
    await expect(load({ KUBECONFIG: 'a' })).rejects.toMatchObject({
      code: 'kubeconfig.invalid',
      message: expect.stringContaining('cluster'),
    });
  });
});

describe('an entry', () => {
  const config = (user: object, ...clusters: object[]): string =>
    stringify({
      'current-context': 'one',
      contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://c' } }, ...clusters],
      users: [{ name: 'u', user }],
    });

  it('names a file with a token, relative to the kubeconfig, which is read again', async () => {
    await mkdir(join(directory, 'sub'));
    await writeFile(join(directory, 'sub/a'), config({ tokenFile: 'token' }));
    await writeFile(join(directory, 'sub/token'), 'first\n');
    const first = await load({ KUBECONFIG: 'sub/a' });
    const headers = async () => (await createCredentials(await first.reload())).current.headers;
    expect(await headers()).toEqual({ Authorization: 'Bearer first' });
    await writeFile(join(directory, 'sub/token'), 'second\n');
    expect(await headers()).toEqual({ Authorization: 'Bearer second' });
    await rm(join(directory, 'sub/token'));
    await expect(headers()).rejects.toMatchObject({
      code: 'kubeconfig.invalid',
      message: expect.stringContaining(join(directory, 'sub/token')),
    });
  });

  it('of another context does no harm when it is incomplete', async () => {
    await writeFile(join(directory, 'a'), config({ token: 't' }, { name: 'x' }, { name: 'z', cluster: {} }));
    expect((await load({ KUBECONFIG: 'a' })).server).toBe('https://c');
  });

  it('is used as it is in the file, although @kubernetes/client-node refuses or changes it', async () => {
    const user = { token: 'té\u2028😀', 'token-file': 'nowhere', 'client-key-data': null };
    const other = { name: 'other', user: { token: '\u007f' } };
    const [server, proxy] = ['https://c/', 'http://p'];
    const document = {
      'current-context': 'one',
      contexts: [{ name: 'one', context: { user: 'u' } }, { name: 'two' }],
      clusters: [{ name: '', cluster: { server, 'proxy-url': proxy } }, { name: 'x' }],
      users: [{ name: '' }, { name: 'u', user }, other],
    };
    await writeFile(join(directory, 'a'), JSON.stringify(document));
    const { server: used, user: read, pinned } = await load({ KUBECONFIG: 'a' });
    expect([used, pinned.cluster.server, pinned.cluster.proxyUrl]).toEqual([server, server, proxy]);
    expect(read).toMatchObject({ token: user.token, keyData: '', certFile: '' });
    const { users, contexts } = await readKubeconfig(join(directory, 'a'));
    expect(users.map(({ name, token }) => [name, token])).toEqual([
      ['', ''],
      ['u', user.token],
      ['other', other.user.token],
    ]);
    expect(contexts[1]).toEqual({ name: 'two', cluster: '', user: '', namespace: '' });
  });

  it('of the user that is missing is kubeconfig.invalid', async () => {
    await writeFile(join(directory, 'a'), config({}).replace('name: u', 'name: v'));
    await expect(load({ KUBECONFIG: 'a' })).rejects.toMatchObject({
      code: 'kubeconfig.invalid',
      message: expect.stringContaining('its user u'),
    });
  });
});

describe('the content', () => {
  it.each([
    ['broken YAML', 'contexts: [\n'],
    ['not a map', '- a\n- b\n'],
    ['entries that are not a list', 'contexts: 7\n'],
  ])('%s is kubeconfig.invalid, with the path of the file', async (_name, text) => {
    await writeFile(join(directory, 'a'), text);
    await expect(load({ KUBECONFIG: 'a' })).rejects.toMatchObject({
      code: 'kubeconfig.invalid',
      message: expect.stringContaining(join(directory, 'a')),
    });
  });

  it.each([
    ['token: "s3cret\n', /line 2, column 1/],
    ['token: s3cret: x\n', /line 1, column \d+/],
    ['token: *s3cret\n', /alias/],
    ['token: !s3cret! x\n', /line 1, column \d+/],
  ])('%j is kubeconfig.invalid, with the place of the error but no word of the file', async (text, place) => {
    await writeFile(join(directory, 'a'), text);
    const error = await load({ KUBECONFIG: 'a' }).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: 'kubeconfig.invalid', message: expect.stringMatching(place) });
    expect(inspect(error)).not.toContain('s3cret');
  });

  it('is kubeconfig.invalid when the path is a directory', async () => {
    await expect(load({ KUBECONFIG: '.' })).rejects.toMatchObject({ code: 'kubeconfig.invalid' });
  });

  it.each([
    ['certificate-authority', { 'certificate-authority': '.' }, { token: 't' }],
    ['client-certificate', {}, { 'client-certificate': '.', 'client-key': 'kc' }],
    ['client-key', {}, { 'client-certificate': 'kc', 'client-key': '.' }],
  ])('is kubeconfig.invalid if the file of its %s is a directory', async (setting, cluster, user) => {
    const config = {
      'current-context': 'one',
      contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://a', ...cluster } }],
      users: [{ name: 'u', user }],
    };
    await writeFile(join(directory, 'kc'), JSON.stringify(config));
    await expect(load({ KUBECONFIG: 'kc' })).rejects.toMatchObject({
      code: 'kubeconfig.invalid',
      message: expect.stringContaining(`${setting} is a directory`),
    });
  });

  it('has paths relative to its own directory', async () => {
    await mkdir(join(directory, 'sub'));
    await writeFile(join(directory, 'sub', 'ca.pem'), 'CA of sub');
    await write('sub/a', { current: 'one', contexts: { one: 'c' }, clusters: { c: 'https://a' } });
    const { pinned } = await load({ KUBECONFIG: 'sub/a' });
    expect(pinned.cluster.caData).toBe(btoa('CA of sub'));
  });
});

describe('a session', () => {
  interface Entry {
    server?: string;
    ca?: string;
    user?: string;
    token?: string;
    name?: string;
    namespace?: string;
    serverName?: string;
  }
  /** A context with a cluster and a user of its own. */
  const entry = (context: string, { server, ca, user, token, name, namespace, serverName }: Entry = {}) => ({
    contexts: [{ name: context, context: { cluster: name ?? context, user: user ?? context, namespace } }],
    clusters: [
      {
        name: name ?? context,
        cluster: {
          server: server ?? 'https://one',
          'tls-server-name': serverName,
          ...(ca === undefined
            ? { 'certificate-authority': 'ca.pem' }
            : { 'certificate-authority-data': btoa(ca) }),
        },
      },
    ],
    users: [{ name: user ?? context, user: { token: token ?? 'first' } }],
  });
  const save = async (file: string, current: string, ...entries: ReturnType<typeof entry>[]) =>
    await writeFile(
      join(directory, file),
      stringify({
        'current-context': current,
        contexts: entries.flatMap(({ contexts }) => contexts),
        clusters: entries.flatMap(({ clusters }) => clusters),
        users: entries.flatMap(({ users }) => users),
      }),
    );
  const begin = async () => {
    await save('a', 'one', entry('one', { namespace: 'shop' }));
    return await load({ KUBECONFIG: 'a' });
  };

  it.each([
    [
      'another current context',
      'two',
      [entry('two', { server: 'https://two' }), entry('one', { token: 'new' })],
    ],
    ['another namespace', 'one', [entry('one', { token: 'new', namespace: 'other' })]],
    ['another user', 'one', [entry('one', { token: 'new', user: 'two' })]],
    ['its CA as data', 'one', [entry('one', { token: 'new', ca: 'CA' })]],
    ['another name for the context', 'renamed', [entry('renamed', { token: 'new', user: 'one' })]],
  ])('follows a new login although the kubeconfig has %s', async (_, current, entries) => {
    const first = await begin();
    await save('a', current, ...entries);
    const again = await first.reload();
    expect(again.user.token).toBe('new');
    expect(again).toMatchObject({ context: 'one', server: 'https://one', namespace: 'shop' });
    expect(again.pinned.cluster).toEqual(first.pinned.cluster);
  });

  it.each([
    ['another server', [entry('one', { token: 'new', server: 'https://two' })]],
    ['another CA', [entry('one', { token: 'new', ca: 'another' })]],
    ['another server name', [entry('one', { token: 'new', serverName: 'two' })]],
    ['neither context nor user', [entry('two', { server: 'https://two' })]],
    [
      'a user who now belongs to another cluster',
      [entry('two', { server: 'https://two', user: 'one', token: 'new' })],
    ],
  ])('does not follow its context to %s', async (_, entries) => {
    const first = await begin();
    await save('a', 'one', ...entries);
    await expect(first.reload()).rejects.toThrow();
  });

  it('keeps the CA that it began with, even if the file is replaced', async () => {
    const first = await begin();
    await writeFile(join(directory, 'ca.pem'), 'CA of a new cluster');
    await expect(first.reload()).rejects.toThrow();
    expect(first.pinned.cluster).toMatchObject({ caData: btoa('CA') });
  });

  it('finds the new login in any of several files', async () => {
    await save('a', 'one', entry('one'));
    await save('b', 'two', entry('two', { server: 'https://two', user: 'one', token: 'of b' }));
    const first = await load({ KUBECONFIG: ['a', 'b'].join(delimiter) });
    await save('a', 'one', entry('one', { token: 'new' }));
    expect((await first.reload()).user.token).toBe('new');
    await rm(join(directory, 'a'));
    await expect(first.reload()).rejects.toThrow();
  });
});

describe('the kubeconfig that pins a cluster', () => {
  const cluster = clusterEntry({ name: 'c', server: 'https://c' });
  const context = { name: 'one', cluster: 'c', user: 'u', namespace: '' };
  it.each([
    [
      { caData: 'Q0E=', tlsServerName: 'n' },
      { 'certificate-authority-data': 'Q0E=', 'tls-server-name': 'n' },
    ],
    [
      { skipTLSVerify: true, proxyUrl: 'http://p' },
      { 'insecure-skip-tls-verify': true, 'proxy-url': 'http://p' },
    ],
    [
      { disableCompression: true, execConfig: { a: 1 } },
      {
        'disable-compression': true,
        extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { a: 1 } }],
      },
    ],
  ])('has the settings of %j, and no user', (settings, expected) => {
    const { server = cluster.server } = settings as { server?: string };
    expect(pinnedKubeconfig({ cluster: { ...cluster, ...settings }, context })).toEqual({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'one' },
      clusters: [{ name: 'c', cluster: { server, ...expected } }],
      contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
    });
  });
});
