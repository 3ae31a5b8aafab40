import { CLUSTER, config, HOME_CONFIG, type Situation } from '../situation.ts';

type Files = Situation['files'];
const merged = (name: string, list: string, files: Files, more: Partial<Situation> = {}): Situation => ({
  ...{ name, files, env: { KUBECONFIG: list } },
  ...more,
});
const token = (name: string, parts: Parameters<typeof config>[0] = {}): object =>
  config({ user: { token: name }, ...parts });
const written = (name: string, text: string): Situation => ({ name, files: { [HOME_CONFIG]: text } });
const parts = (name: string, more: object): Situation => ({
  name,
  files: { [HOME_CONFIG]: config({ more }) },
});

const YAML = `apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: c, user: u}
clusters:
- name: c
  cluster:
    server: https://127.0.0.1:@PORT@
    certificate-authority-data: @PEM64:ca@
users:
- name: u
  user:
    token: first
`;

/** Where kubeconfigs are, and how several become one. */
export const PLACES: Situation[] = [
  { name: 'no file', files: {} },
  { name: 'an empty file', files: { [HOME_CONFIG]: '' } },
  { name: 'a file of the home directory', files: { [HOME_CONFIG]: token('home') } },
  merged('KUBECONFIG', '@DIR@/a', { a: token('a'), [HOME_CONFIG]: token('home') }),
  merged('KUBECONFIG that is empty', '', { [HOME_CONFIG]: token('home') }),
  merged('KUBECONFIG that is a colon', ':', { [HOME_CONFIG]: token('home') }),
  merged('KUBECONFIG, relative', 'a', { 'work/a': token('a') }),
  merged('KUBECONFIG with a tilde', '~/a', { 'home/a': token('a') }),
  merged('KUBECONFIG that does not exist', '@DIR@/a', { [HOME_CONFIG]: token('home') }),
  merged('KUBECONFIG that is a directory', '@DIR@', {}),
  merged('a file that does not exist before another', '@DIR@/a:@DIR@/b', { b: token('b') }),
  merged('a directory before another', '@DIR@/home:@DIR@/b', { b: token('b') }),
  merged('a broken file before another', '@DIR@/a:@DIR@/b', { a: '{', b: token('b') }),
  merged('a broken file after another', '@DIR@/b:@DIR@/a', { a: '{', b: token('b') }),
  merged('an empty file before another', '@DIR@/a:@DIR@/b', { a: '', b: token('b') }),
  merged('empty names in the list', ':@DIR@/b::', { b: token('b') }),
  merged('the same file twice', '@DIR@/b:@DIR@/b', { b: token('b') }),
  merged('two users of the same name', '@DIR@/a:@DIR@/b', { a: token('a'), b: token('b') }),
  merged('two clusters of the same name', '@DIR@/a:@DIR@/b', {
    a: token('a'),
    b: token('b', { cluster: { server: 'https://127.0.0.1:1' } }),
  }),
  merged('two clusters of the same name, the other way', '@DIR@/b:@DIR@/a', {
    a: token('a'),
    b: token('b', { cluster: { server: 'https://127.0.0.1:1' } }),
  }),
  merged('two current contexts', '@DIR@/a:@DIR@/b', {
    a: {
      'current-context': 'two',
      contexts: [{ name: 'two', context: { cluster: 'c', user: 'v' } }],
      users: [{ name: 'v', user: { token: 'v' } }],
    },
    b: token('b'),
  }),
  merged('a current context alone before', '@DIR@/a:@DIR@/b', {
    a: { 'current-context': 'two' },
    b: config({
      more: { contexts: [{ name: 'two', context: { cluster: 'c', user: 'u' } }], 'current-context': 'none' },
    }),
  }),
  merged('parts of one context in several files', '@DIR@/a:@DIR@/b:@DIR@/c', {
    a: { 'current-context': 'one', users: [{ name: 'u', user: { token: 'a' } }] },
    b: { clusters: [{ name: 'c', cluster: CLUSTER }] },
    c: { contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }] },
  }),
  merged('two contexts of the same name', '@DIR@/a:@DIR@/b', {
    a: token('a', { context: { user: 'x' }, more: { users: [{ name: 'x', user: { token: 'x' } }] } }),
    b: token('b'),
  }),
  merged('paths relative to their own file', '@DIR@/a/k:@DIR@/b/k', {
    'a/k': { 'current-context': 'one', users: [{ name: 'u', user: { tokenFile: 'token' } }] },
    'a/token': 'of-a',
    'b/token': 'of-b',
    'b/ca.pem': '@PEM:ca@',
    'b/k': config({ cluster: { server: 'https://127.0.0.1:@PORT@', 'certificate-authority': 'ca.pem' } }),
  }),
  merged('a path relative to a file that is a link', '@DIR@/a/k', {
    'a/k': '-> @DIR@/b/k',
    'b/k': config({ user: { tokenFile: 'token' } }),
    'a/token': 'of-a',
    'b/token': 'of-b',
  }),
  merged(
    '--kubeconfig before KUBECONFIG',
    '@DIR@/a',
    { a: token('a'), b: token('b') },
    { args: ['--kubeconfig', '@DIR@/b'] },
  ),
  { name: '--kubeconfig, relative', files: { 'work/b': token('b') }, args: ['--kubeconfig', 'b'] },
  {
    name: '--kubeconfig that does not exist',
    files: { [HOME_CONFIG]: token('home') },
    args: ['--kubeconfig', 'b'],
  },
  {
    name: '--kubeconfig that is a list',
    files: { a: token('a'), b: token('b') },
    args: ['--kubeconfig', '@DIR@/a:@DIR@/b'],
  },
  { name: '--kubeconfig that is empty', files: { [HOME_CONFIG]: token('home') }, args: ['--kubeconfig', ''] },
  { name: '--kubeconfig that is a directory', files: {}, args: ['--kubeconfig', '@DIR@'] },
  { name: 'no HOME', files: { [HOME_CONFIG]: token('home') }, env: { HOME: '' } },
  {
    name: 'no HOME, and .kube/config in the current directory',
    files: { 'work/.kube/config': token('work') },
    env: { HOME: '' },
  },
];

/** Contexts and what they name. */
export const CONTEXTS: Situation[] = [
  {
    name: '--context',
    files: { [HOME_CONFIG]: config({ more: { 'current-context': 'x' } }) },
    args: ['--context', 'one'],
  },
  { name: '--context that does not exist', files: { [HOME_CONFIG]: config() }, args: ['--context', 'two'] },
  { name: '--context that is empty', files: { [HOME_CONFIG]: config() }, args: ['--context', ''] },
  parts('a current context that does not exist', { 'current-context': 'two' }),
  parts('no current context', { 'current-context': '' }),
  parts('a current context that is null', { 'current-context': null }),
  parts('a context without a user', { contexts: [{ name: 'one', context: { cluster: 'c' } }] }),
  parts('a context with an empty user', { contexts: [{ name: 'one', context: { cluster: 'c', user: '' } }] }),
  parts('a context with a user that does not exist', {
    contexts: [{ name: 'one', context: { cluster: 'c', user: 'x' } }],
  }),
  parts('a context without a cluster', { contexts: [{ name: 'one', context: { user: 'u' } }] }),
  parts('a context with a cluster that does not exist', {
    contexts: [{ name: 'one', context: { cluster: 'x', user: 'u' } }],
  }),
  parts('a context that is null', { contexts: [{ name: 'one', context: null }] }),
  parts('a context with a namespace that is none', {
    contexts: [{ name: 'one', context: { cluster: 'c', user: 'u', namespace: 'A b' } }],
  }),
  parts('a cluster without a server', {
    clusters: [{ name: 'c', cluster: { 'certificate-authority-data': '@PEM64:ca@' } }],
  }),
  parts('a cluster with an empty server', { clusters: [{ name: 'c', cluster: { ...CLUSTER, server: '' } }] }),
  parts('a cluster that is null', { clusters: [{ name: 'c', cluster: null }] }),
  parts('a user that is null', { users: [{ name: 'u', user: null }] }),
  parts('a user without settings', { users: [{ name: 'u' }] }),
  parts('users that are null', { users: null }),
  parts('users that are a map', { users: { u: { token: 'x' } } }),
  parts('two users of one name', {
    users: [
      { name: 'u', user: { token: 'a' } },
      { name: 'u', user: { token: 'b' } },
    ],
  }),
  parts('two clusters of one name', {
    clusters: [
      { name: 'c', cluster: CLUSTER },
      { name: 'c', cluster: CLUSTER },
    ],
  }),
  parts('two contexts of one name', {
    contexts: [
      { name: 'one', context: { cluster: 'c', user: 'u' } },
      { name: 'one', context: { cluster: 'c', user: 'u' } },
    ],
  }),
  parts('a name that is empty', {
    'current-context': 'one',
    users: [
      { name: '', user: { token: 'x' } },
      { name: 'u', user: { token: 'first' } },
    ],
  }),
  parts('another user that is incomplete', {
    users: [{ name: 'u', user: { token: 'x' } }, { name: 'v' }, { user: {} }],
  }),
  parts('another cluster that is incomplete', {
    clusters: [{ name: 'c', cluster: CLUSTER }, { name: 'd' }, { name: 'e', cluster: {} }],
  }),
  parts('another user with a token that is a number', {
    users: [
      { name: 'u', user: { token: 'x' } },
      { name: 'v', user: { token: 7 } },
    ],
  }),
  parts('another cluster with data that is not base64', {
    clusters: [
      { name: 'c', cluster: CLUSTER },
      { name: 'd', cluster: { server: 'https://x', 'certificate-authority-data': '%' } },
    ],
  }),
  parts('another cluster with a file that does not exist', {
    clusters: [
      { name: 'c', cluster: CLUSTER },
      { name: 'd', cluster: { server: 'https://x', 'certificate-authority': '/nowhere' } },
    ],
  }),
  parts('preferences and extensions', {
    preferences: { colors: true },
    extensions: [{ name: 'x', extension: { a: 1 } }],
  }),
  parts('unknown settings', { anything: { a: 1 } }),
  parts('another kind', { kind: 'Pod' }),
  parts('another version', { apiVersion: 'v2' }),
  parts('no kind and no version', { kind: undefined, apiVersion: undefined }),
  parts('a name that is __proto__', {
    'current-context': '__proto__',
    contexts: [{ name: '__proto__', context: { cluster: 'c', user: 'u' } }],
  }),
];

/** How the file is written. */
export const TEXTS: Situation[] = [
  written('YAML', YAML),
  written('YAML with CRLF', YAML.replaceAll('\n', '\r\n')),
  written('YAML with a byte order mark', `\ufeff${YAML}`),
  written('YAML with three dashes', `---\n${YAML}`),
  written('YAML with a document after it', `${YAML}---\ncurrent-context: two\n`),
  written('YAML with a comment', `# a comment\n${YAML}`),
  written('YAML with comments alone', '# a comment\n'),
  written('YAML with tabs', YAML.replace('    token', '\ttoken')),
  written('YAML with an anchor', YAML.replace('token: first', 'token: &t first\n    as: *t')),
  written('YAML with a merge key', YAML.replace('    token: first', '    <<: {token: merged}')),
  written('YAML with a key twice', YAML.replace('token: first', 'token: first\n    token: second')),
  written('YAML with a list twice', `${YAML}users:\n- name: u\n  user: {token: again}\n`),
  written('YAML with a token that is a number', YAML.replace('first', '12345')),
  written('YAML with a token that is a float', YAML.replace('first', '1e3')),
  written('YAML with a token that looks like octal', YAML.replace('first', '0123')),
  written('YAML with a token that is yes', YAML.replace('first', 'yes')),
  written('YAML with a token that is a date', YAML.replace('first', '2020-01-01')),
  written('YAML with a token that is a time', YAML.replace('first', '12:30:45')),
  written('YAML with a token that is a tilde', YAML.replace('first', '~')),
  written('YAML with a token in quotes', YAML.replace('first', '"12345"')),
  written('YAML with a token in a block', YAML.replace('first', '|\n      first')),
  written('YAML with a token in a folded block', YAML.replace('first', '>-\n      first')),
  written('YAML with a tag', YAML.replace('first', '!!str 12345')),
  written('YAML with a binary tag', YAML.replace('first', '!!binary Zmlyc3Q=')),
  written('YAML with a context that is a number', YAML.replaceAll('one', '123')),
  written('YAML with a context that is a number in quotes', YAML.replaceAll('one', '"123"')),
  written(
    'YAML with insecure: yes',
    YAML.replace(/certificate-authority-data.*/, 'insecure-skip-tls-verify: yes'),
  ),
  written(
    'YAML with insecure: on',
    YAML.replace(/certificate-authority-data.*/, 'insecure-skip-tls-verify: on'),
  ),
  written(
    'YAML with insecure: y',
    YAML.replace(/certificate-authority-data.*/, 'insecure-skip-tls-verify: y'),
  ),
  written(
    'YAML with insecure: True',
    YAML.replace(/certificate-authority-data.*/, 'insecure-skip-tls-verify: True'),
  ),
  written(
    'YAML with insecure: 1',
    YAML.replace(/certificate-authority-data.*/, 'insecure-skip-tls-verify: 1'),
  ),
  written('YAML that is broken', `${YAML}users: [`),
  written('YAML that is a list', '- a\n'),
  written('YAML that is a text', 'hello\n'),
  written('YAML that is null', 'null\n'),
  written('YAML with data on several lines', YAML.replace('@PEM64:ca@', '|\n      @PEM64:ca@')),
  written('YAML with other capitals', YAML.replace('token: first', 'Token: first')),
  written('JSON with a comma at the end', JSON.stringify(config()).replace(/\}$/, ',}')),
  written(
    'JSON with a key twice',
    JSON.stringify(config()).replace('"token":"first"', '"token":"first","token":"second"'),
  ),
];
