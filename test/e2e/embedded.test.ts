/** Without a cluster, the sample runs against an API server of its own, and nothing is left of it. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { BIN, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { application, checkoutSample, NAMESPACE, SERVICE } from '../support/sample-operator.ts';
import { addSettings } from '../support/settings-of-sample.ts';

const BUILT_MS = 240_000;
const TWO_DAYS_MS = 2 * 24 * 60 * 60 * 1000;
const LOG = (line: string) => console.error(line);

it('a checkout that was never deployed has its first review answered, its reconciles seen, and leaves nothing', async () => {
  await using checkout = await checkoutSample();
  const cwd = checkout.directory;
  await addSettings(cwd);
  const state = join(cwd, '.state');
  const env = { XDG_STATE_HOME: state, KUBECONFIG: join(cwd, 'no-kubeconfig'), KUBEBUILDER_ASSETS: '' };
  const without = await runDevloop(['up', '--embedded'], { cwd, env });
  expect(without.code, without.log).toBe(2);
  expect(without.log).toContain('setup-envtest@latest use');

  const { cluster } = await ensureClusterBinaries({ log: LOG });
  const assets = join(cwd, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver'])
    await writeFile(join(assets, name), `#!/bin/sh\nexec ${cluster} ${name} "$@"\n`, { mode: 0o755 });
  await using first = startDevloop(['up', '--embedded', '--keep'], { cwd, env });
  const { session } = await first.waitFor('session.ready', ({ embedded }) => embedded === true, BUILT_MS);
  const started = await first.waitFor('note', ({ code }) => code === 'embedded.started');
  const { kubeconfig } = started.values as { kubeconfig: string };
  const file = join(cwd, 'web.yaml');
  await writeFile(file, application('web', 'example.com/shop:1'));
  const kubectl = async (...words: string[]) =>
    (await promisify(execFile)('kubectl', ['--kubeconfig', kubeconfig, ...words])).stdout;
  await kubectl('apply', '-f', file);
  const review = await first.waitFor('review', ({ verdict }) => verdict === 'allowed');
  expect(review).toMatchObject({ operation: 'CREATE', object: { name: 'web', namespace: 'default' } });
  const reconcile = await first.waitFor('reconcile', ({ calls }) => calls.length > 2);
  expect(reconcile).toMatchObject({ kind: 'Application', name: 'web', result: 'success' });
  const unrun = await first.waitFor('note', ({ code }) => code === 'embedded.no-pods');
  expect(unrun.values).toEqual({ kind: 'Deployment', namespace: 'default', name: 'web' });
  expect(first.log()).not.toContain('identity.as-user');
  await offersNames({ cwd, env: { ...env, KUBECONFIG: kubeconfig }, session });
  const second = await runDevloop(['up', '--embedded'], { cwd, env });
  expect(second.code, second.log).toBe(4);
  expect(second.log).toContain(`Session ${session} (pid ${first.pid})`);
  first.signal('SIGKILL');
  await first.exited;

  await using again = startDevloop(['up', '--embedded', '--keep'], { cwd, env });
  await again.waitFor('session.ready', undefined, BUILT_MS);
  const names = await kubectl('get', 'application,deployment', 'web', '-o', 'name');
  expect(names).toBe('application.apps.example.com/web\ndeployment.apps/web\n');
  const bad = join(cwd, 'config/samples/apps_v1_application_bad.yaml');
  await expect(kubectl('apply', '-f', bad)).rejects.toThrow('is invalid');
  await makesItsOwnPair(kubectl);
  await again.waitFor(
    'certificate.written',
    ({ notAfter }) => Date.parse(notAfter) < Date.now() + TWO_DAYS_MS,
  );
  await expect(kubectl('apply', '-f', bad)).rejects.toThrow('is invalid');

  const output = (text: string) => again.waitFor('controller.output', ({ line }) => line.includes(text));
  const level = (text: string) =>
    kubectl(
      'patch',
      'configmap',
      'application-operator-settings',
      '-n',
      NAMESPACE,
      '-p',
      `{"data":{"level.txt":"${text}"}}`,
    );
  await output('starts with one in settings, variable one, subPath one');
  await level('two');
  await output('sees two in settings, variable one, subPath one');
  await output('sees two in applicat, variable one, subPath one');
  const objects = [{ kind: 'ConfigMap', namespace: NAMESPACE, name: 'application-operator-settings' }];
  for (const [code, values] of [
    ['configuration.updated', { objects, paths: ['/settings', '/etc/application-operator'] }],
    ['configuration.variables', { objects, variables: ['SETTINGS_LEVEL'] }],
    ['configuration.sub-path', { objects, path: '/fixed.txt' }],
  ] as const)
    expect((await again.waitFor('note', (note) => note.code === code)).values).toEqual(values);
  await writeFile(
    join(cwd, 'cmd/settings_more.go'),
    'package main\n\nfunc init() { println("another build") }\n',
  );
  await output('starts with two in settings, variable two, subPath two');

  const running = (await readdir(join(state, 'devloop'))).find((name) => name.startsWith('embedded-'))!;
  const record = await readFile(join(state, 'devloop', running, 'etcd.json'), 'utf8');
  process.kill((JSON.parse(record) as { pid: number }).pid, 'SIGKILL');
  expect(await again.exited, again.log()).toBe(3);
  expect((await again.waitFor('error')).message).toMatch(/its etcd \(pid \d+\) was killed by SIGKILL/);
  await expect(kubectl('get', 'namespaces')).rejects.toThrow('refused');
  expect((await readdir(join(state, 'devloop'))).filter((name) => !name.startsWith('.'))).toEqual([]);

  const down = await runDevloop(['down', '--embedded'], { cwd, env });
  expect(down.code, down.log).toBe(0);
  const removed = down.events.flatMap((event) => (event.type === 'note' ? [event.values] : []));
  expect(removed).toMatchObject([{ what: 'data' }, { what: 'kubeconfig', path: kubeconfig }]);
  expect(await readdir(join(state, 'devloop/.embedded'))).toEqual([]);
});

/** What a controller with a certificate of its own writes, in this order. */
async function makesItsOwnPair(kubectl: (...words: string[]) => Promise<string>) {
  const pair = await selfSignedPair([`${SERVICE}.${NAMESPACE}.svc`], { days: 1 });
  const [certificate, key] = [pair.certificate, pair.key].map((text) => Buffer.from(text).toString('base64'));
  const replace = async (object: string, values: Record<string, unknown>) => {
    const patch = Object.entries(values).map(([path, value]) => ({ op: 'replace', path, value }));
    await kubectl('patch', '-n', NAMESPACE, object, '--type=json', '-p', JSON.stringify(patch));
  };
  await replace('secret/webhook-server-cert', { '/data/tls.crt': certificate, '/data/tls.key': key });
  for (const kind of ['validating', 'mutating'])
    await replace(`${kind}webhookconfiguration/application-operator-${kind}-webhook-configuration`, {
      '/webhooks/0/clientConfig/caBundle': certificate,
    });
}

/** What a shell offers while somebody types, directly and through kubectl. On a busy machine, a first Tab can come to nothing. */
async function offersNames(place: { cwd: string; env: Record<string, string>; session: string }) {
  const programs = join(place.cwd, '.programs');
  await mkdir(programs);
  for (const name of ['devloop', 'kubectl-devloop']) await symlink(BIN, join(programs, name));
  await symlink(join(BIN, '../kubectl_complete-devloop'), join(programs, 'kubectl_complete-devloop'));
  const PATH = [programs, dirname(process.execPath), process.env.PATH].join(delimiter);
  const options = { cwd: place.cwd, env: { ...process.env, ...place.env, PATH } };
  const expected: [words: string, offered: string][] = [
    ['status --namespace', NAMESPACE],
    ['status --deployment', 'default/web'],
    [`certs -n ${NAMESPACE} --service`, 'application-operator-webhook-service'],
    ['hold --session', place.session],
    ['reviews show', 'r-000001'],
    ['reconciles show', 'k-000001'],
    ['calls show', 'c-000001'],
  ];
  for (const [words, offered] of expected)
    for (const [program, ...start] of [
      ['devloop', '__complete', '--'],
      ['kubectl', '__complete', 'devloop'],
    ])
      await eventually(async () => {
        const { stdout } = await promisify(execFile)(program!, [...start, ...words.split(' '), ''], options);
        expect(stdout.split('\n'), words).toContain(offered);
      });
}
