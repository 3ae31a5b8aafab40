import { expect, test } from 'vitest';
import { applyRules } from '../../../src/local/apply-rules.ts';
import { RULES } from '../../../src/local/rules.ts';
import { openSettings } from '../../../src/local/settings.ts';
import { recordEvents } from '../controller/support/events.ts';
import { madeLocal } from './support/made-local.ts';

const CERTS = '/tmp/k8s-webhook-server/serving-certs';
const PATHS = [
  { from: CERTS, to: '/state/certs' },
  { from: '/etc/operator', to: '/state/mounts/0' },
  { from: '/etc/operator/special/', to: '/state/mounts/1/' },
];
const HERE = { paths: PATHS, busyPorts: [8080, 8081, 8443] };

test.each<[string, string[], string[]]>([
  ['leader election without a value', ['--leader-elect'], ['--leader-elect=false']],
  ['leader election with a value', ['--leader-elect=true'], ['--leader-elect=false']],
  ['leader election in two arguments', ['--leader-elect', 'true', 'x'], ['--leader-elect=false', 'x']],
  [
    'leader election before another flag',
    ['--leader-elect', '--zap-devel'],
    ['--leader-elect=false', '--zap-devel'],
  ],
  ['leader election of kubebuilder v2', ['--enable-leader-election'], ['--enable-leader-election=false']],
  ['leader election with one dash', ['-leader-elect=true'], ['-leader-elect=false']],
  [
    'other spellings of leader election',
    ['--leader-election', '--enable-leader-elect=1'],
    ['--leader-election=false', '--enable-leader-elect=0'],
  ],
  [
    'leader election that is already off',
    ['--leader-elect=false', '--leader-elect=0'],
    ['--leader-elect=false', '--leader-elect=0'],
  ],
  [
    'other flags of leader election',
    ['--leader-election-id=x', '--leader-elect-lease-duration=15s'],
    ['--leader-election-id=x', '--leader-elect-lease-duration=15s'],
  ],
  ['a mounted directory', [`--webhook-cert-path=${CERTS}`], ['--webhook-cert-path=/state/certs']],
  [
    'a mounted directory as an argument of its own',
    ['--cert-dir', `${CERTS}/`],
    ['--cert-dir', '/state/certs/'],
  ],
  [
    'a file in a mounted directory',
    ['-config=/etc/operator/config.yaml'],
    ['-config=/state/mounts/0/config.yaml'],
  ],
  ['the longest mount', ['/etc/operator/special/a'], ['/state/mounts/1/a']],
  [
    'a path that merely begins like a mount',
    [`${CERTS}-old/a`, '/etc/operators'],
    [`${CERTS}-old/a`, '/etc/operators'],
  ],
  [
    'a list',
    ['--files=/etc/operator/a,/other,/etc/operator/b'],
    ['--files=/state/mounts/0/a,/other,/state/mounts/0/b'],
  ],
  ['a list of names and paths', ['--map=a=/etc/operator/a,b=/other'], ['--map=a=/state/mounts/0/a,b=/other']],
  ['a busy metrics port', ['--metrics-bind-address=:8443'], ['--metrics-bind-address=:0']],
  ['a busy metrics port, kubebuilder v2', ['--metrics-addr=127.0.0.1:8080'], ['--metrics-addr=127.0.0.1:0']],
  [
    'a busy metrics port in two arguments',
    ['--metrics-bind-address', ':8443'],
    ['--metrics-bind-address', ':0'],
  ],
  [
    'a busy health port',
    ['--health-probe-bind-address=:8081', '--health-addr=:8081'],
    ['--health-probe-bind-address=:0', '--health-addr=:0'],
  ],
  [
    'a busy port of an address that only this machine reaches',
    [
      '--health-probe-bind-address=127.0.0.1:8081',
      '--pprof-bind-address',
      'localhost:8443',
      '--probe-addr=[::1]:8081',
    ],
    [
      '--health-probe-bind-address=127.0.0.1:0',
      '--pprof-bind-address',
      'localhost:0',
      '--probe-addr=[::1]:0',
    ],
  ],
  [
    'a busy port that is a plain number',
    ['--metrics-port=8080', '--health-port', '8081'],
    ['--metrics-port=0', '--health-port', '0'],
  ],
  [
    'busy ports of flags in camel case',
    ['--metricsPort=8080', '--healthProbeAddr', ':8081', '--webhookServerPort=8443'],
    ['--metricsPort=0', '--healthProbeAddr', ':0', '--webhookServerPort=8443'],
  ],
  [
    'busy ports of flags with more words in front',
    ['--controllerRuntimeMetricsAddress=:8080', '--shop-health-port=8081', '--push-metrics-addr=host:8080'],
    ['--controllerRuntimeMetricsAddress=:0', '--shop-health-port=0', '--push-metrics-addr=host:8080'],
  ],
  [
    'free ports',
    ['--metrics-bind-address=:9999', '--health-probe-bind-address=0'],
    ['--metrics-bind-address=:9999', '--health-probe-bind-address=0'],
  ],
  [
    'a busy port in other flags',
    ['--webhook-port=8443', '--upstream=host:8443'],
    ['--webhook-port=8443', '--upstream=host:8443'],
  ],
  [
    'flags of klog and zap',
    ['-v=4', '--zap-log-level', 'debug', '-logtostderr'],
    ['-v=4', '--zap-log-level', 'debug', '-logtostderr'],
  ],
  [
    'a kubeconfig',
    ['--kubeconfig=/etc/operator/kubeconfig', 'a', '-kubeconfig', '/b', '--kubeconfig', '--v=1'],
    ['a', '--v=1'],
  ],
  ['a flag that only begins like it', ['--kubeconfig-context=a'], ['--kubeconfig-context=a']],
  ['a subcommand', ['controller', '--', 'x'], ['controller', '--', 'x']],
])('%s', async (_, args, expected) => {
  expect((await madeLocal({ args }, HERE)).args).toEqual(expected);
});

test('each change has a note with the reason', async () => {
  const args = ['--leader-elect', '--metrics-bind-address', ':8443', '--x=1', `--c=${CERTS}`, CERTS];
  const { events } = await madeLocal({ args }, HERE);
  const change = (setting: string, before: string, after: string, because = expect.any(String)) => {
    const values = { setting, place: 'flag', before, after, because };
    return { type: 'note', code: 'setting.changed', values };
  };
  expect(events).toMatchObject([
    change('--leader-elect', 'true', 'false', expect.stringContaining('Pod')),
    change('--metrics-bind-address', ':8443', ':0', expect.stringContaining('8443')),
    change('--c', CERTS, '/state/certs'),
    change('', CERTS, '/state/certs'),
  ]);
});

test('a kubeconfig that the manager names may be for another API server', async () => {
  const { events } = await madeLocal({ args: ['--kubeconfig=/etc/a/kubeconfig', '--kubeconfig='] }, HERE);
  expect(events).toMatchObject([
    { code: 'setting.doubtful', values: { setting: '--kubeconfig', before: '/etc/a/kubeconfig' } },
    { code: 'setting.left-out', values: { setting: '--kubeconfig' } },
  ]);
});

test('what comes from a Secret is not shown', async () => {
  const args = [
    { value: '--metrics-addr=127.0.0.1:8080', shown: '--metrics-addr=$(ADDRESS)' },
    { value: `--c=${CERTS}/secret`, shown: `--c=${CERTS}/$(NAME)` },
  ];
  const variables = { HEALTH_PORT: '8081' };
  const known = { secrets: new Set(['HEALTH_PORT']), commandNames: new Set<string>() };
  const settings = openSettings({ args, variables, files: new Map() }, known);
  const { events, emit } = recordEvents();
  await applyRules(RULES, settings, { ...HERE, isElectable: false, electionVariables: new Set() }, emit);
  expect(settings.result()).toMatchObject({
    args: [
      { value: '--metrics-addr=127.0.0.1:0', shown: '--metrics-addr=$(ADDRESS)' },
      { value: '--c=/state/certs/secret', shown: '--c=/state/certs/$(NAME)' },
    ],
    variables: { HEALTH_PORT: '0' },
  });
  const values = events.map((event) => (event.type === 'note' ? event.values : undefined));
  expect(values).toEqual([
    { setting: '--metrics-addr', place: 'flag', before: '$(ADDRESS)', because: expect.any(String) },
    { setting: 'HEALTH_PORT', place: 'variable', because: expect.any(String) },
    expect.objectContaining({ before: `${CERTS}/$(NAME)`, after: '/state/certs/$(NAME)' }),
  ]);
});

test('all other arguments stay as they are', async () => {
  const next = randomNumbers(7);
  const words = [
    '--',
    '-',
    'a',
    'x=y',
    '--zap-devel',
    '-v',
    '4',
    '--name',
    'true',
    'ä',
    ' ',
    '--u=http://h:8443/p',
    '/usr/bin',
    ':8081',
    '=',
    '',
    '--port=8080',
    'leader-elect',
  ];
  for (let round = 0; round < 2000; round++) {
    const args = Array.from({ length: next(8) }, () => words[next(words.length)]!);
    expect(await madeLocal({ args }, HERE)).toMatchObject({ args, changes: [] });
  }
});

test('local arguments stay as they are', async () => {
  const args = [
    '--leader-elect',
    'true',
    '--metrics-bind-address=:8443',
    '--health-addr',
    ':8081',
    `--c=${CERTS}`,
  ];
  const { args: once } = await madeLocal({ args }, HERE);
  expect(await madeLocal({ args: once }, HERE)).toMatchObject({ args: once, changes: [] });
});

function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}
