/** What the demo says at its end. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { keepHints, keptAnyway } from '../../../scripts/demo/kept.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory, newSessionId } from '../../../src/session/context/session-directories.ts';
import { placeOf } from '../../../src/session/embedded/place.ts';

const ROOT = join(import.meta.dirname, '../../..');
const EDITED = 'internal/webhook/v1/application_webhook.go';

/** The record of a kept demo, in a state directory of its own. */
function recordKept(more: { clusterDirectory?: string; context?: string } = {}) {
  const state = mkdtempSync(join(tmpdir(), 'devloop-kept-'));
  onTestFinished(() => rmSync(state, { recursive: true }));
  const record = join(state, 'kube-devloop/demo.json');
  mkdirSync(dirname(record));
  const checkout = join(state, 'gone');
  writeFileSync(record, JSON.stringify({ checkout, ...more }));
  return { record, checkout, env: { ...process.env, XDG_STATE_HOME: state } };
}

function calling(call: string, env: NodeJS.ProcessEnv): { stdout: string; stderr: string } {
  const script = `import('./scripts/demo/kept.ts').then(async (it) => console.log(await it.${call}))`;
  return spawnSync(process.execPath, ['-e', script], { cwd: ROOT, env, encoding: 'utf8' });
}

it('forgets a kept checkout that is already gone', () => {
  const { record, env } = recordKept();
  const { stdout, stderr } = calling('stopKept()', env);
  expect(stdout, stderr).toContain('The checkout is removed.');
  expect(existsSync(record)).toBe(false);
});

it('forgets a kept demo of which nothing is left before another one is kept, and only then', () => {
  const { record, checkout, env } = recordKept({ context: 'mine' });
  mkdirSync(checkout);
  const ask = 'forgetGone(await it.kept())';
  expect(calling(ask, env).stdout).toBe('undefined\n');
  expect(existsSync(record)).toBe(true);
  rmSync(checkout, { recursive: true });
  const { stdout, stderr } = calling(ask, env);
  expect(stdout, stderr).toContain(checkout);
  expect(stdout).toContain(' undeploy');
  expect(existsSync(record)).toBe(false);

  const withCluster = recordKept({ clusterDirectory: tmpdir() });
  expect(calling(ask, withCluster.env).stdout).toBe('undefined\n');
  expect(existsSync(withCluster.record)).toBe(true);
});

function listKept(env: Record<string, string>): { stdout: string; stderr: string } {
  const script = "import('./scripts/demo/on-disk.ts').then(async (it) => console.log(await it.keptOnDisk()))";
  const options = { cwd: ROOT, env: { ...process.env, ...env }, encoding: 'utf8' } as const;
  return spawnSync(process.execPath, ['-e', script], options);
}

it('lists what else is kept where Go is no longer installed', () => {
  const { stdout, stderr } = listKept({ PATH: '/nonexistent' });
  expect(stdout, stderr).toContain('npm packages');
  expect(stdout).not.toContain('go clean');
});

it('lists all that is kept on the machine, with sizes, and the command that removes it', () => {
  const home = mkdtempSync(join(tmpdir(), 'devloop-on-disk-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [cache, programs] = [join(home, 'kube-devloop'), join(home, 'devloop/programs')];
  for (const directory of [cache, programs]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(programs, 'program'), Buffer.alloc(3 << 20, 1));
  writeFileSync(join(cache, 'debian-packages'), 'runc\nnftables\nrunc\n');
  // As `npm link` makes it.
  mkdirSync(join(home, 'bin'));
  symlinkSync(join(ROOT, 'bin/devloop.js'), join(home, 'bin/devloop'));
  const PATH = `${join(home, 'bin')}:${process.env.PATH}`;
  const caches = { XDG_CACHE_HOME: home, GOCACHE: home, GOMODCACHE: home, npm_config_cache: home };
  const { stdout, stderr } = listKept({ ...caches, PATH });
  const lines = stdout.trim().split('\n').slice(1);
  const removes = (what: string, command: string): unknown =>
    expect.stringMatching(new RegExp(`^ +[\\d.]+[KMG]? +${what}.* ${command}$`));
  expect(lines, stderr).toEqual([
    removes('etcd, kube-apiserver, the test cluster', `rm -rf ${cache}`),
    expect.stringMatching(new RegExp(`^ +3\\.\\d+M .*programs .* rm -rf ${dirname(programs)}$`)),
    removes('npm packages', `rm -rf ${ROOT}/node_modules`),
    removes("npm's cache", 'npm cache clean --force'),
    removes("Go's builds", 'go clean -cache'),
    removes("Go's modules", 'go clean -modcache'),
    expect.stringMatching(/^ +Debian packages installed for this +apt-get remove runc nftables$/),
    expect.stringMatching(/^ +the command devloop +npm unlink --global kube-devloop$/),
  ]);
});

it('names a file to edit and how to end what is kept, as the README does', () => {
  const hints = keepHints({
    checkout: '/tmp/checkout',
    kubeconfig: '/tmp/config',
    clusterDirectory: '/tmp/c',
  });
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  for (const text of [hints, readme]) {
    expect(text).toContain(EDITED);
    expect(text).toContain('run demo -- --stop');
  }
  expect(hints).toContain('cd /tmp/checkout\n');
  expect(hints).toContain('export KUBECONFIG=/tmp/config\n');
  expect(readme).toContain('npm run demo -- --keep');
  // The files and lines that the demo tells people to change exist.
  expect(readFileSync(join(ROOT, 'examples/application-operator', EDITED), 'utf8')).toContain(
    'imageRequired',
  );
});

it.each([
  { kept: { kubeconfig: '/tmp/config' }, command: 'devloop up --yes' },
  { kept: { assets: '/tmp/assets' }, command: 'devloop up --embedded' },
])(
  'its commands can be typed in any directory, with nothing but the clone: $command',
  ({ kept, command }) => {
    const checkout = mkdtempSync(join(tmpdir(), "devloop's checkout "));
    onTestFinished(() => rmSync(checkout, { recursive: true }));
    const lines = keepHints({ checkout, ...kept }).split('\n');
    const up = lines.indexOf(`  ${command}`);
    const stop = lines.find((line) => line.startsWith('To end it: '))!.slice('To end it: '.length);
    const typed = [
      'shopt -s expand_aliases',
      ...lines.slice(0, up),
      'pwd',
      'echo $KUBECONFIG$KUBEBUILDER_ASSETS',
      'devloop --version',
      `echo ${stop}`,
    ];
    const env = { ...process.env, KUBECONFIG: '', KUBEBUILDER_ASSETS: '' };
    const { stdout, stderr } = spawnSync('bash', {
      input: typed.join('\n'),
      cwd: '/',
      env,
      encoding: 'utf8',
    });
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(stdout.split('\n'), stderr).toEqual([
      checkout,
      Object.values(kept)[0],
      version,
      `npm --prefix ${ROOT} run demo -- --stop`,
      '',
    ]);
  },
);

it('says how to look at what a failed demo has kept', () => {
  const kept = { checkout: '/tmp/checkout', kubeconfig: '/tmp/config', clusterDirectory: '/tmp/c' };
  const text = keptAnyway(kept);
  for (const part of [
    'devloop status',
    'devloop down',
    'export KUBECONFIG=/tmp/config\n',
    'run demo -- --stop',
  ])
    expect(text).toContain(part);
});

it('is not stopped while a session runs in its checkout', async () => {
  const state = mkdtempSync(join(tmpdir(), 'devloop-kept-'));
  onTestFinished(() => rmSync(state, { recursive: true }));
  const checkout = join(state, 'checkout');
  for (const directory of [checkout, join(state, 'kube-devloop')]) mkdirSync(directory);
  const { kubeconfig } = placeOf(await thisMachine({ ...process.env, XDG_STATE_HOME: state }), checkout);
  mkdirSync(dirname(kubeconfig), { recursive: true });
  writeFileSync(kubeconfig, '');
  writeFileSync(join(state, 'kube-devloop/demo.json'), JSON.stringify({ checkout }));
  // The sizes of what is kept are computed quickly.
  const kept = { XDG_CACHE_HOME: state, GOCACHE: state, GOMODCACHE: state, npm_config_cache: state };
  const env = { ...process.env, ...kept, XDG_STATE_HOME: state };
  const stop = (): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, ['scripts/demo.ts', '--stop'], { cwd: ROOT, env, encoding: 'utf8' });

  const directory = await claimDirectory(await thisMachine(env), newSessionId(), { checkout });
  const refused = stop();
  expect(`${refused.stdout}${refused.stderr}`).toContain(`devloop up still runs in ${checkout}`);
  expect(refused.status).toBe(1);
  expect(existsSync(checkout)).toBe(true);

  rmSync(directory, { recursive: true });
  expect(stop()).toMatchObject({ status: 0 });
  expect(existsSync(checkout)).toBe(false);
  expect(existsSync(kubeconfig)).toBe(false);
});

/** The version of each module that a go.mod names. */
function modulesIn(file: string): Map<string, string> {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const required = [...text.matchAll(/^\t?(?:require )?(\S+) (v\S+)/gm)];
  const replaced = [...text.matchAll(/^replace (\S+) => \S+ (v\S+)/gm)];
  return new Map([...required, ...replaced].map(([, name = '', version = '']) => [name, version]));
}

it('the sample operator has the modules of the test cluster, so that the demo compiles most of its packages only once', () => {
  const [sample, cluster] = ['examples/application-operator/go.mod', 'test/cluster/go.mod'].map(modulesIn);
  const inBoth = [...sample!].filter(([name]) => cluster!.has(name));
  expect(inBoth.map(([name]) => name)).toContain('k8s.io/client-go');
  const different = inBoth.filter(([name, version]) => cluster!.get(name) !== version);
  // controller-gen, a tool of the sample's module, needs newer ones.
  expect(different.map(([name]) => name)).toEqual([
    'github.com/fsnotify/fsnotify',
    'github.com/prometheus/procfs',
    'golang.org/x/tools',
  ]);
});

it('builds with the flags of the user and those of the test cluster', () => {
  const script =
    "import('./scripts/demo/go-settings.ts').then((it) => it.shareBuilds()).then(() => console.log(process.env.GOFLAGS))";
  const env = { ...process.env, GOFLAGS: '-trimpath -mod=mod' };
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  });
  expect(stdout, stderr).toBe('-mod=mod -trimpath\n');
});
