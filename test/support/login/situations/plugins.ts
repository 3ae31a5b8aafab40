import {
  CLUSTER,
  credential,
  EXEC,
  PLUGIN,
  pluginThatPrints,
  SERVER,
  type Situation,
  usual,
  V1,
  V1BETA1,
} from '../situation.ts';

const SCRIPT = { 'bin/login': PLUGIN };
const runs = (name: string, exec: object | null, more: Partial<Situation> = {}): Situation =>
  usual(name, { user: { exec } }, { ...more, files: { ...SCRIPT, ...more.files } });
const prints = (name: string, printed: string | object, exec: object = EXEC): Situation =>
  runs(name, exec, { files: { 'bin/login': pluginThatPrints(printed) } });
const inPath = (
  name: string,
  command: string,
  files: Situation['files'],
  env?: Record<string, string>,
): Situation => runs(name, { ...EXEC, command }, { files, ...(env ? { env } : {}) });
const named = (token: string): string => pluginThatPrints(credential({ token }));

/** Which program is run. */
const COMMANDS: Situation[] = [
  runs('an absolute path', EXEC),
  inPath('a name on the PATH', 'login', {}),
  inPath('a name that is not on the PATH', 'absent', {}),
  runs('a name that is not on the PATH, with a hint', {
    ...EXEC,
    command: 'absent',
    installHint: 'install it',
  }),
  inPath('a name in the current directory alone', 'token', { 'work/token': named('of-work') }),
  inPath(
    'a name in the current directory, which is on the PATH',
    'token',
    { 'work/token': named('of-work') },
    { PATH: '.:/usr/bin:/bin' },
  ),
  inPath(
    'a name in the current directory, and an empty part of the PATH',
    'token',
    { 'work/token': named('of-work') },
    { PATH: ':/usr/bin:/bin' },
  ),
  inPath(
    'a name in a directory relative to the current one',
    'token',
    { 'work/b/token': named('of-work') },
    { PATH: 'b:/usr/bin:/bin' },
  ),
  inPath(
    'a name in the current directory first, and also elsewhere',
    'login',
    { 'work/login': named('of-work') },
    { PATH: '.:@DIR@/bin:/usr/bin:/bin' },
  ),
  inPath(
    'a name elsewhere first, and also in the current directory',
    'login',
    { 'work/login': named('of-work') },
    { PATH: '@DIR@/bin:.:/usr/bin:/bin' },
  ),
  inPath('a path relative to the kubeconfig', './token', {
    'home/.kube/token': named('of-home'),
    'work/token': named('of-work'),
  }),
  inPath('a path above the kubeconfig', '../x/token', {
    'home/x/token': named('of-home'),
    'x/token': named('of-work'),
  }),
  inPath('a path below the kubeconfig', 'x/token', {
    'home/.kube/x/token': named('of-home'),
    'work/x/token': named('of-work'),
  }),
  inPath('a path that exists in the current directory alone', '../x/token', { 'x/token': named('of-work') }),
  inPath('a path that is a directory', '@DIR@/bin', {}),
  inPath('a path with two slashes', '@DIR@//bin/login', {}),
  inPath('a path of a kubeconfig that is a link', './token', {
    'home/.kube/config': '-> @DIR@/other/config',
    'other/config': JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'one' },
      contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: CLUSTER }],
      users: [{ name: 'u', user: { exec: { ...EXEC, command: './token' } } }],
    }),
    'home/.kube/token': named('of-home'),
    'other/token': named('of-other'),
  }),
  inPath('a file that is not executable', '@DIR@/plain', { plain: 'text' }),
  runs(
    'a program without an interpreter line',
    { ...EXEC, command: '@DIR@/bin/bare' },
    {
      files: { 'bin/bare': '-> /etc/hostname' },
    },
  ),
  inPath('a name with a space', 'a b', { 'bin/a b': named('spaced') }),
  inPath('an empty command', '', {}),
  runs('a command that is no text', { ...EXEC, command: 7 }),
  inPath('a shell line, which is none', 'login --x', {}),
  inPath('a tilde', '~/bin/login', { 'home/bin/login': named('of-home') }),
];

/** What it gets. */
const CALLS: Situation[] = [
  runs('arguments', { ...EXEC, args: ['a', 'b c', '$HOME', ''] }),
  runs('arguments that are numbers', { ...EXEC, args: [7] }),
  runs('arguments that are null', { ...EXEC, args: null }),
  runs('a variable', { ...EXEC, env: [{ name: 'EXTRA', value: 'given' }] }),
  runs('a variable twice', {
    ...EXEC,
    env: [
      { name: 'EXTRA', value: 'one' },
      { name: 'EXTRA', value: 'two' },
    ],
  }),
  runs(
    'a variable that the environment has, too',
    { ...EXEC, env: [{ name: 'EXTRA', value: 'given' }] },
    { env: { EXTRA: 'outer' } },
  ),
  runs('a variable without a value', { ...EXEC, env: [{ name: 'EXTRA' }] }, { env: { EXTRA: 'outer' } }),
  runs('a variable without a name', { ...EXEC, env: [{ value: 'x' }] }),
  runs('a variable of the environment', EXEC, { env: { EXTRA: 'outer' } }),
  runs(
    'the PATH as a variable',
    { ...EXEC, command: 'login', env: [{ name: 'PATH', value: '@DIR@/other:/usr/bin:/bin' }] },
    {
      files: { 'other/login': named('of-other') },
    },
  ),
  runs('KUBERNETES_EXEC_INFO in the environment', EXEC, { env: { KUBERNETES_EXEC_INFO: '{"old":1}' } }),
  runs(
    'version v1beta1',
    { ...EXEC, apiVersion: V1BETA1 },
    {
      files: { 'bin/login': pluginThatPrints(credential({ token: 'of-plugin' }, V1BETA1)) },
    },
  ),
  runs(
    'version v1beta1 without interactiveMode',
    { command: '@DIR@/bin/login', apiVersion: V1BETA1 },
    {
      files: { 'bin/login': pluginThatPrints(credential({ token: 'of-plugin' }, V1BETA1)) },
    },
  ),
  runs(
    'version v1alpha1',
    { ...EXEC, apiVersion: 'client.authentication.k8s.io/v1alpha1' },
    {
      files: {
        'bin/login': pluginThatPrints(credential({ token: 'x' }, 'client.authentication.k8s.io/v1alpha1')),
      },
    },
  ),
  runs('version that is unknown', { ...EXEC, apiVersion: 'x/v1' }),
  runs('no version', { command: '@DIR@/bin/login', interactiveMode: 'Never' }),
  runs('no interactiveMode', { command: '@DIR@/bin/login', apiVersion: V1 }),
  runs('interactiveMode that is unknown', { ...EXEC, interactiveMode: 'Sometimes' }),
  runs('IfAvailable, without a terminal', { ...EXEC, interactiveMode: 'IfAvailable' }),
  runs('Always, without a terminal', { ...EXEC, interactiveMode: 'Always' }),
  ...['Never', 'IfAvailable', 'Always'].map((interactiveMode) =>
    runs(
      `${interactiveMode}, at a terminal`,
      { ...EXEC, interactiveMode },
      {
        terminal: true,
        files: {
          'bin/login': pluginThatPrints(
            credential({ token: 'of-plugin' }),
            'if [ -t 0 ]; then read line; else line=none; fi; printf "%s\\n" "read $line" >> @DIR@/plugins',
          ),
        },
      },
    ),
  ),
  ...Object.entries({
    'with data': { 'certificate-authority-data': '@PEM64:ca@' },
    'with a file': { 'certificate-authority': 'ca.pem' },
    'with a path': { 'certificate-authority-data': '@PEM64:ca@', server: `${SERVER}/a/` },
    insecure: { 'insecure-skip-tls-verify': true, 'tls-server-name': 'x.devloop.test' },
    'with compression off': { 'certificate-authority-data': '@PEM64:ca@', 'disable-compression': true },
    'with a setting for the plugin': {
      'certificate-authority-data': '@PEM64:ca@',
      extensions: [
        { name: 'client.authentication.k8s.io/exec', extension: { audience: 'x', list: [1, true] } },
        { name: 'other', extension: { a: 1 } },
      ],
    },
    'with a setting that is text': {
      'certificate-authority-data': '@PEM64:ca@',
      extensions: [{ name: 'client.authentication.k8s.io/exec', extension: 'x' }],
    },
  }).map(([name, cluster]) =>
    usual(
      `provideClusterInfo ${name}`,
      { cluster: { server: SERVER, ...cluster }, user: { exec: { ...EXEC, provideClusterInfo: true } } },
      { files: { ...SCRIPT, 'home/.kube/ca.pem': '@PEM:ca@' } },
    ),
  ),
  usual(
    'provideClusterInfo with a proxy of the kubeconfig',
    {
      cluster: { ...CLUSTER, 'proxy-url': 'http://127.0.0.1:@PROXY@' },
      user: { exec: { ...EXEC, provideClusterInfo: true } },
    },
    { files: SCRIPT, proxy: { kind: 'http' } },
  ),
  usual(
    'provideClusterInfo with a proxy of the environment',
    { user: { exec: { ...EXEC, provideClusterInfo: true } } },
    {
      files: SCRIPT,
      proxy: { kind: 'http' },
      server: { address: '10.77.0.1' },
      env: { HTTPS_PROXY: 'http://127.0.0.1:@PROXY@' },
    },
  ),
  usual(
    'a plain server',
    { cluster: { server: 'http://127.0.0.1:@PORT@' }, user: { exec: EXEC } },
    { files: SCRIPT, server: { plain: true } },
  ),
];

const PAIR = { clientCertificateData: '@PEMJSON:client@', clientKeyData: '@KEYJSON:client@' };
const printsLines = (name: string, status: object): Situation => prints(name, credential(status));

/** What it prints. */
const ANSWERS: Situation[] = [
  prints('nothing', ''),
  prints('no JSON', 'token'),
  prints('YAML', `apiVersion: ${V1}\nkind: ExecCredential\nstatus: {token: of-yaml}`),
  prints('JSON that is no object', '7'),
  prints('no kind', { apiVersion: V1, status: { token: 'x' } }),
  prints('another kind', { apiVersion: V1, kind: 'Secret', status: { token: 'x' } }),
  prints('no version', { kind: 'ExecCredential', status: { token: 'x' } }),
  prints('another version', credential({ token: 'x' }, V1BETA1)),
  prints('no status', credential(undefined)),
  prints('a status that is null', { ...credential(undefined), status: null }),
  printsLines('an empty status', {}),
  printsLines('an empty token', { token: '' }),
  printsLines('a token that is a number', { token: 7 }),
  printsLines('a token with a line feed', { token: 'a\nb' }),
  printsLines('a token with a line feed at its end', { token: 'a\n' }),
  printsLines('unknown settings', { token: 'x', more: 1 }),
  usual(
    'text after it',
    { user: { exec: EXEC } },
    {
      files: { 'bin/login': `${PLUGIN}echo more\n` },
    },
  ),
  usual(
    'lines on stderr',
    { user: { exec: EXEC } },
    {
      files: { 'bin/login': pluginThatPrints(credential({ token: 'of-plugin' }), 'echo "code: 1234" >&2') },
    },
  ),
  usual('a failure', { user: { exec: EXEC } }, { files: { 'bin/login': `${PLUGIN}exit 3\n` } }),
  usual('a signal', { user: { exec: EXEC } }, { files: { 'bin/login': `${PLUGIN}kill -9 $$\n` } }),
  printsLines('a client certificate', PAIR),
  printsLines('a client certificate and a token', { ...PAIR, token: 'x' }),
  printsLines('a client certificate without a key', { clientCertificateData: '@PEMJSON:client@' }),
  printsLines('a key alone, and a token', { clientKeyData: '@KEYJSON:client@', token: 'x' }),
  printsLines('a client certificate that is none', { clientCertificateData: 'x', clientKeyData: 'y' }),
  printsLines('the key of another', {
    clientCertificateData: '@PEMJSON:client@',
    clientKeyData: '@KEYJSON:server@',
  }),
  printsLines('a token for later', { token: 'x', expirationTimestamp: '2099-01-01T00:00:00Z' }),
  printsLines('a token that has expired', { token: 'x', expirationTimestamp: '2020-01-01T00:00:00Z' }),
  printsLines('an expiry that is no time', { token: 'x', expirationTimestamp: 'soon' }),
  usual(
    'a token that is rejected',
    { user: { exec: EXEC } },
    { files: SCRIPT, server: { accepts: 'Bearer another' } },
  ),
  usual(
    'a client certificate in vain',
    { user: { exec: EXEC } },
    {
      files: { 'bin/login': pluginThatPrints(credential({ ...PAIR, token: 'x' })) },
      server: { asksNoCertificate: true },
    },
  ),
];

/** Other credentials beside it. */
const BESIDE: Situation[] = [
  usual('and a token', { user: { exec: EXEC, token: 'first' } }, { files: SCRIPT }),
  usual(
    'and a tokenFile',
    { user: { exec: EXEC, tokenFile: '@DIR@/token' } },
    { files: { ...SCRIPT, token: 'second' } },
  ),
  usual('and a password', { user: { exec: EXEC, username: 'me', password: 'secret' } }, { files: SCRIPT }),
  usual(
    'and a client certificate',
    {
      user: { exec: EXEC, 'client-certificate-data': '@PEM64:client@', 'client-key-data': '@KEY64:client@' },
    },
    { files: SCRIPT },
  ),
  usual(
    'and an auth-provider',
    { user: { exec: EXEC, 'auth-provider': { name: 'oidc' } } },
    { files: SCRIPT },
  ),
  usual('and as', { user: { exec: EXEC, as: 'jane', 'as-groups': ['devs'] } }, { files: SCRIPT }),
  runs('exec: null', null),
  runs('exec: {}', {}),
];

const KUBERC = 'home/.kube/kuberc';
const kuberc = (
  name: string,
  settings: object | string,
  command = '@DIR@/bin/login',
  more: Partial<Situation> = {},
): Situation => {
  const text =
    typeof settings === 'string'
      ? settings
      : { apiVersion: 'kubectl.config.k8s.io/v1beta1', kind: 'Preference', ...settings };
  return runs(name, { ...EXEC, command }, { ...more, files: { [KUBERC]: text, ...more.files } });
};
const allowing = (...commands: unknown[]): object => ({
  credentialPluginPolicy: 'Allowlist',
  credentialPluginAllowlist: commands.map((command) => ({ command })),
});

/** Which plugins the user's kuberc allows. */
const POLICIES: Situation[] = [
  kuberc('kuberc without a policy', {}),
  kuberc('kuberc that allows all', { credentialPluginPolicy: 'AllowAll' }),
  kuberc('kuberc that denies all', { credentialPluginPolicy: 'DenyAll' }),
  kuberc('kuberc with an unknown policy', { credentialPluginPolicy: 'Some' }),
  kuberc('kuberc with an empty policy', { credentialPluginPolicy: '' }),
  kuberc('kuberc that allows its path', allowing('@DIR@/bin/login')),
  kuberc('kuberc that allows its name', allowing('login')),
  kuberc('kuberc that allows another of its name', allowing('@DIR@/other/login')),
  kuberc('kuberc that allows its name, of a name', allowing('login'), 'login'),
  kuberc('kuberc that allows its path, of a name', allowing('@DIR@/bin/login'), 'login'),
  kuberc('kuberc that allows others', allowing('a', 'b')),
  kuberc('kuberc with an empty list', allowing()),
  kuberc('kuberc with an empty command', allowing('')),
  kuberc('kuberc with a command twice cleaned', allowing('@DIR@//bin/login')),
  kuberc('kuberc with name, as before 1.36', {
    credentialPluginPolicy: 'Allowlist',
    credentialPluginAllowlist: [{ name: 'login' }],
  }),
  kuberc('kuberc without its list', { credentialPluginPolicy: 'Allowlist' }),
  kuberc('kuberc that allows all, with a list', { ...allowing('login'), credentialPluginPolicy: 'AllowAll' }),
  kuberc('kuberc with a list and no policy', { credentialPluginAllowlist: [{ command: 'login' }] }),
  kuberc('kuberc with an unknown setting', { credentialPluginPolicy: 'DenyAll', other: 1 }),
  kuberc('kuberc that is broken', '{'),
  kuberc('kuberc that is empty', ''),
  kuberc('kuberc of v1alpha1', {
    apiVersion: 'kubectl.config.k8s.io/v1alpha1',
    credentialPluginPolicy: 'DenyAll',
  }),
  kuberc('kuberc of another kind', { kind: 'Other', credentialPluginPolicy: 'DenyAll' }),
  kuberc('kuberc without a kind', `credentialPluginPolicy: DenyAll\n`),
  kuberc('kuberc that is turned off', { credentialPluginPolicy: 'DenyAll' }, undefined, {
    env: { KUBERC: 'off' },
  }),
  kuberc('kuberc whose feature is turned off', { credentialPluginPolicy: 'DenyAll' }, undefined, {
    env: { KUBECTL_KUBERC: 'false' },
  }),
  kuberc('kuberc of a variable', { credentialPluginPolicy: 'AllowAll' }, undefined, {
    env: { KUBERC: '@DIR@/kuberc' },
    files: {
      kuberc:
        'apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\ncredentialPluginPolicy: DenyAll\n',
    },
  }),
  kuberc('kuberc of a variable that does not exist', {}, undefined, { env: { KUBERC: '@DIR@/absent' } }),
  kuberc(
    'kuberc in YAML',
    'apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\ncredentialPluginPolicy: DenyAll\n',
  ),
  kuberc(
    'kuberc in two documents',
    '---\napiVersion: other/v1\nkind: X\n---\napiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\ncredentialPluginPolicy: DenyAll\n',
  ),
  usual(
    'kuberc that denies all, and a token',
    { user: { token: 'first' } },
    {
      files: {
        [KUBERC]:
          'apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\ncredentialPluginPolicy: DenyAll\n',
      },
    },
  ),
];

const titled = (title: string, all: Situation[]): Situation[] =>
  all.map((one) => ({ ...one, name: `${title}: ${one.name}` }));

export const PLUGINS: Situation[] = [
  ...titled('command', COMMANDS),
  ...titled('call', CALLS),
  ...titled('prints', ANSWERS),
  ...titled('exec', BESIDE),
  ...titled('policy', POLICIES),
];
