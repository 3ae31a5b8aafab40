/** A kubeconfig with everything that one can have. Its first context works. */
export const fullKubeconfig = (url: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'fake',
  preferences: {},
  contexts: [
    { name: 'fake', context: { cluster: 'fake', user: 'fake', namespace: 'shop' } },
    { name: 'other', context: { cluster: 'other', user: 'other' } },
  ],
  clusters: [
    { name: 'fake', cluster: { server: url, 'tls-server-name': 'x', 'insecure-skip-tls-verify': false } },
    {
      name: 'other',
      cluster: {
        server: 'https://127.0.0.1:1',
        'certificate-authority-data': 'AAAA',
        'proxy-url': 'http://127.0.0.1:1',
      },
    },
  ],
  users: [
    { name: 'fake', user: { token: 'anybody' } },
    {
      name: 'other',
      user: {
        'client-certificate-data': 'AAAA',
        'client-key-data': 'AAAA',
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: '/nowhere/plugin',
          args: ['a'],
          env: [{ name: 'A', value: 'b' }],
        },
      },
    },
  ],
});

const EXEC = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' };

/** Users and clusters with which no login works. */
export const BAD_USERS: object[] = [
  { token: 'a\nb' },
  { token: '\0' },
  { tokenFile: '/nowhere' },
  { tokenFile: '/' },
  { username: 'a\nb', password: '\0' },
  { 'client-certificate': '/nowhere', 'client-key': '/nowhere' },
  { 'client-certificate': '/', 'client-key': '/' },
  { 'client-certificate-data': '%%%', 'client-key-data': '%%%' },
  { 'client-certificate-data': btoa('-----BEGIN CERTIFICATE-----'), 'client-key-data': btoa('x') },
  { 'auth-provider': {} },
  { 'auth-provider': { name: 'oidc' } },
  { 'auth-provider': { name: 'oidc', config: { 'id-token': 'a.b.c', 'idp-issuer-url': 'x' } } },
  { 'auth-provider': { name: 'gcp', config: { 'cmd-path': '/nowhere' } } },
  { 'auth-provider': { name: 'azure', config: null } },
  { exec: {} },
  { exec: { command: '' } },
  { exec: { ...EXEC, command: '/' } },
  { exec: { command: { not: 'a text' } } },
  { exec: { ...EXEC, command: '/nowhere' } },
  ...[
    '',
    '{',
    '{}',
    'null',
    '7',
    '{"status":7}',
    '{"status":{}}',
    '{"status":{"token":7}}',
    '{"status":{"token":""}}',
  ].map((text) => ({
    exec: { ...EXEC, command: '/bin/echo', args: [text] },
  })),
  { exec: { apiVersion: 'x', command: '/bin/echo', args: ['{"status":{"token":"a\\nb"}}'] } },
  { exec: { ...EXEC, command: '/bin/false' } },
  { exec: { ...EXEC, command: '/bin/sh', args: ['-c', 'kill -9 $$'] } },
];
export const BAD_CLUSTERS: object[] = [
  ...[
    '',
    ' ',
    'https://',
    'https://:443',
    'https://[::1',
    'https://127.0.0.1:99999',
    'ftp://x',
    'unix:///x',
    'x:y',
    '//x',
  ],
  ...[
    'http://',
    'https://127.0.0.1:1',
    'http://127.0.0.1:1/%',
    'https://a b',
    'https://user:pw@127.0.0.1:1',
    'https://127.0.0.1:1/?#',
  ],
].map((address) => ({ server: address }));
BAD_CLUSTERS.push(
  { server: 'https://127.0.0.1:1', 'certificate-authority': '/nowhere' },
  { server: 'https://127.0.0.1:1', 'certificate-authority': '/' },
  { server: 'https://127.0.0.1:1', 'certificate-authority-data': '%%%' },
  {
    server: 'https://127.0.0.1:1',
    'certificate-authority-data': btoa('-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----'),
  },
  ...['', 'x', 'socks5://', 'socks5://127.0.0.1:1', 'http://', 'ftp://x', '::'].map((proxy) => ({
    server: 'https://127.0.0.1:1',
    'proxy-url': proxy,
  })),
);
