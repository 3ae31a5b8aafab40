import { CLUSTER, type Situation, usual } from '../situation.ts';

const ADDRESS = '10.77.0.1';
const NAME = 'https://api.devloop.test:@PORT@';
const HTTP = 'http://127.0.0.1:@PROXY@';

/** The server is at an address that is not loopback. */
const by = (
  name: string,
  env: Record<string, string>,
  more: Partial<Situation> = {},
  server?: string,
): Situation =>
  usual(
    name,
    { cluster: { ...CLUSTER, server: server ?? 'https://@HOST@:@PORT@' } },
    { env, proxy: { kind: 'http' }, server: { address: ADDRESS }, ...more },
  );
const url = (name: string, proxy: unknown, more: Partial<Situation> = {}, cluster: object = {}): Situation =>
  usual(
    name,
    { cluster: { ...CLUSTER, ...cluster, 'proxy-url': proxy } },
    { proxy: { kind: 'http' }, ...more },
  );
const except = (list: string, server?: string): Situation =>
  by(`NO_PROXY=${list}${server ? ' for a name' : ''}`, { HTTPS_PROXY: HTTP, NO_PROXY: list }, {}, server);

const CLIENT = { 'client-certificate-data': '@PEM64:client@', 'client-key-data': '@KEY64:client@' };

export const PROXIES: Situation[] = [
  by('HTTPS_PROXY', { HTTPS_PROXY: HTTP }),
  by('https_proxy', { https_proxy: HTTP }),
  by('HTTPS_PROXY and https_proxy', { HTTPS_PROXY: HTTP, https_proxy: 'http://127.0.0.1:1' }),
  by('HTTPS_PROXY that is empty, and https_proxy', { HTTPS_PROXY: '', https_proxy: HTTP }),
  by('HTTP_PROXY alone', { HTTP_PROXY: 'http://127.0.0.1:1' }),
  by('ALL_PROXY alone', { ALL_PROXY: 'http://127.0.0.1:1', all_proxy: 'http://127.0.0.1:1' }),
  by("npm's and Node's own variables", { npm_config_proxy: 'http://127.0.0.1:1', NODE_USE_ENV_PROXY: '1' }),
  by('HTTPS_PROXY for a name', { HTTPS_PROXY: HTTP }, {}, NAME),
  by(
    'HTTPS_PROXY for a name that only the proxy knows',
    { HTTPS_PROXY: HTTP },
    { server: { certificate: 'other-name' } },
    'https://other.devloop.test:@PORT@',
  ),
  by('HTTPS_PROXY for an umlaut', { HTTPS_PROXY: HTTP }, {}, 'https://bücher.devloop.test:@PORT@'),
  by('HTTPS_PROXY for 127.0.0.1', { HTTPS_PROXY: 'http://127.0.0.1:1' }, { server: {} }),
  by(
    'HTTPS_PROXY for localhost',
    { HTTPS_PROXY: 'http://127.0.0.1:1' },
    { server: {} },
    'https://localhost:@PORT@',
  ),
  by(
    'HTTPS_PROXY for LOCALHOST',
    { HTTPS_PROXY: 'http://127.0.0.1:1' },
    { server: {} },
    'https://LOCALHOST:@PORT@',
  ),
  by('HTTPS_PROXY for [::1]', { HTTPS_PROXY: 'http://127.0.0.1:1' }, { server: { address: '::1' } }),
  by(
    'HTTPS_PROXY for [::ffff:127.0.0.1]',
    { HTTPS_PROXY: 'http://127.0.0.1:1' },
    { server: {} },
    'https://[::ffff:127.0.0.1]:@PORT@',
  ),
  by('HTTPS_PROXY without a scheme', { HTTPS_PROXY: '127.0.0.1:@PROXY@' }),
  by('HTTPS_PROXY without a scheme, but a name', { HTTPS_PROXY: 'localhost:@PROXY@' }),
  by('HTTPS_PROXY with a path', { HTTPS_PROXY: `${HTTP}/a` }),
  by('HTTPS_PROXY in capitals', { HTTPS_PROXY: 'HTTP://127.0.0.1:@PROXY@' }),
  by(
    'HTTPS_PROXY with a login',
    { HTTPS_PROXY: 'http://me:secret@127.0.0.1:@PROXY@' },
    { proxy: { kind: 'http', login: 'me:secret' } },
  ),
  by('HTTPS_PROXY with an encoded login', { HTTPS_PROXY: 'http://m%40e:s%3Acret@127.0.0.1:@PROXY@' }),
  by('HTTPS_PROXY with a user alone', { HTTPS_PROXY: 'http://me@127.0.0.1:@PROXY@' }),
  by(
    'HTTPS_PROXY with a wrong login',
    { HTTPS_PROXY: 'http://me:x@127.0.0.1:@PROXY@' },
    { proxy: { kind: 'http', login: 'me:secret' } },
  ),
  by(
    'HTTPS_PROXY that wants a login',
    { HTTPS_PROXY: HTTP },
    { proxy: { kind: 'http', login: 'me:secret' } },
  ),
  by('HTTPS_PROXY that refuses', { HTTPS_PROXY: HTTP }, { proxy: { kind: 'http', refuses: 403 } }),
  by('HTTPS_PROXY that fails', { HTTPS_PROXY: HTTP }, { proxy: { kind: 'http', refuses: 502 } }),
  by('HTTPS_PROXY where nothing listens', { HTTPS_PROXY: 'http://127.0.0.1:1' }),
  by('HTTPS_PROXY that is no URL', { HTTPS_PROXY: '://' }),
  by('HTTPS_PROXY with a space', { HTTPS_PROXY: 'http://a b:1' }),
  by('HTTPS_PROXY with a port that is none', { HTTPS_PROXY: 'http://127.0.0.1:x' }),
  by('HTTPS_PROXY with an unknown scheme', { HTTPS_PROXY: 'ftp://127.0.0.1:@PROXY@' }),
  by('HTTPS_PROXY by TLS', { HTTPS_PROXY: 'https://127.0.0.1:@PROXY@' }, { proxy: { kind: 'https' } }),
  by(
    'HTTPS_PROXY by TLS, with a certificate of another CA',
    { HTTPS_PROXY: 'https://127.0.0.1:@PROXY@' },
    {
      proxy: { kind: 'https', certificate: 'server-of-other-ca' },
    },
  ),
  by(
    'HTTPS_PROXY by TLS, for another name',
    { HTTPS_PROXY: 'https://127.0.0.1:@PROXY@' },
    {
      proxy: { kind: 'https', certificate: 'other-name' },
    },
  ),
  by(
    'HTTPS_PROXY by TLS, with a login',
    { HTTPS_PROXY: 'https://me:secret@127.0.0.1:@PROXY@' },
    {
      proxy: { kind: 'https', login: 'me:secret' },
    },
  ),
  by('HTTPS_PROXY by SOCKS', { HTTPS_PROXY: 'socks5://127.0.0.1:@PROXY@' }, { proxy: { kind: 'socks5' } }),
  by(
    'HTTPS_PROXY by SOCKS for a name',
    { HTTPS_PROXY: 'socks5://127.0.0.1:@PROXY@' },
    { proxy: { kind: 'socks5' } },
    NAME,
  ),
  by(
    'HTTPS_PROXY by SOCKS for a name that only the proxy knows',
    { HTTPS_PROXY: 'socks5://127.0.0.1:@PROXY@' },
    {
      proxy: { kind: 'socks5' },
      server: { certificate: 'other-name' },
    },
    'https://other.devloop.test:@PORT@',
  ),
  by(
    'HTTPS_PROXY by SOCKS with h',
    { HTTPS_PROXY: 'socks5h://127.0.0.1:@PROXY@' },
    { proxy: { kind: 'socks5' } },
    NAME,
  ),
  by(
    'HTTPS_PROXY by SOCKS with a login',
    { HTTPS_PROXY: 'socks5://me:secret@127.0.0.1:@PROXY@' },
    {
      proxy: { kind: 'socks5', login: 'me:secret' },
    },
  ),
  by(
    'HTTPS_PROXY by SOCKS with a wrong login',
    { HTTPS_PROXY: 'socks5://me:x@127.0.0.1:@PROXY@' },
    {
      proxy: { kind: 'socks5', login: 'me:secret' },
    },
  ),
  by(
    'HTTPS_PROXY by SOCKS that wants a login',
    { HTTPS_PROXY: 'socks5://127.0.0.1:@PROXY@' },
    {
      proxy: { kind: 'socks5', login: 'me:secret' },
    },
  ),
  by('HTTPS_PROXY by SOCKS 4', { HTTPS_PROXY: 'socks4://127.0.0.1:@PROXY@' }, { proxy: { kind: 'socks5' } }),
  by(
    'HTTP_PROXY of plain HTTP',
    { HTTP_PROXY: HTTP },
    { server: { address: ADDRESS, plain: true } },
    'http://10.77.0.1:@PORT@',
  ),
  by(
    'HTTP_PROXY of plain HTTP with a path',
    { HTTP_PROXY: HTTP },
    { server: { address: ADDRESS, plain: true } },
    'http://10.77.0.1:@PORT@/a',
  ),
  by(
    'HTTP_PROXY of plain HTTP with a login',
    { HTTP_PROXY: 'http://me:secret@127.0.0.1:@PROXY@' },
    {
      server: { address: ADDRESS, plain: true },
    },
    'http://10.77.0.1:@PORT@',
  ),
  by(
    'HTTP_PROXY of plain HTTP by SOCKS',
    { HTTP_PROXY: 'socks5://127.0.0.1:@PROXY@' },
    {
      server: { address: ADDRESS, plain: true },
      proxy: { kind: 'socks5' },
    },
    'http://10.77.0.1:@PORT@',
  ),
  by(
    'HTTP_PROXY of plain HTTP in a CGI program',
    { HTTP_PROXY: HTTP, REQUEST_METHOD: 'GET' },
    {
      server: { address: ADDRESS, plain: true },
    },
    'http://10.77.0.1:@PORT@',
  ),
  by(
    'HTTPS_PROXY of plain HTTP',
    { HTTPS_PROXY: 'http://127.0.0.1:1' },
    { server: { address: ADDRESS, plain: true } },
    'http://10.77.0.1:@PORT@',
  ),
  by('HTTPS_PROXY with a path of the server', { HTTPS_PROXY: HTTP }, {}, 'https://@HOST@:@PORT@/clusters/a'),
  usual(
    'HTTPS_PROXY with a client certificate',
    { user: CLIENT },
    {
      env: { HTTPS_PROXY: HTTP },
      ...{ proxy: { kind: 'http' }, server: { address: ADDRESS } },
    },
  ),
  usual(
    'HTTPS_PROXY by TLS with a client certificate',
    { user: CLIENT },
    {
      env: { HTTPS_PROXY: 'https://127.0.0.1:@PROXY@' },
      ...{ proxy: { kind: 'https' }, server: { address: ADDRESS } },
    },
  ),
  usual(
    'HTTPS_PROXY with tls-server-name',
    { cluster: { ...CLUSTER, 'tls-server-name': 'other.devloop.test' } },
    {
      env: { HTTPS_PROXY: HTTP },
      ...{ proxy: { kind: 'http' }, server: { address: ADDRESS, certificate: 'other-name' } },
    },
  ),
  ...[
    ...[
      '10.77.0.1',
      '10.77.0.2',
      '10.77.0.0/16',
      '10.78.0.0/16',
      '10.77.0.1:@PORT@',
      '10.77.0.1:1',
      '*',
      '10.77.0.1 , x',
    ],
    ...[
      'x,10.77.0.1',
      '.0.1',
      '10.77.*',
      '::ffff:10.77.0.1',
      '10.77.0.0/33',
      '10.77',
      ',,',
      '10.77.0.1;x',
      '*,x',
    ],
  ].map((list) => except(list)),
  ...[
    ...[
      'api.devloop.test',
      'devloop.test',
      '.devloop.test',
      '*.devloop.test',
      'test',
      '.test',
      'API.Devloop.Test',
      'pi.devloop.test',
    ],
    ...[
      'api.devloop.test:@PORT@',
      'api.devloop.test:1',
      '.api.devloop.test',
      '10.77.0.1',
      '*devloop.test',
      'api.devloop.test.',
    ],
  ].map((list) => except(list, NAME)),
  by('no_proxy', { HTTPS_PROXY: HTTP, no_proxy: '10.77.0.1' }),
  by('NO_PROXY and no_proxy', { HTTPS_PROXY: HTTP, NO_PROXY: 'x', no_proxy: '10.77.0.1' }),
  by(
    'NO_PROXY for an umlaut',
    { HTTPS_PROXY: HTTP, NO_PROXY: 'bücher.devloop.test' },
    {},
    'https://bücher.devloop.test:@PORT@',
  ),
  url('proxy-url', HTTP),
  url('proxy-url by TLS', 'https://127.0.0.1:@PROXY@', { proxy: { kind: 'https' } }),
  url('proxy-url by SOCKS', 'socks5://127.0.0.1:@PROXY@', { proxy: { kind: 'socks5' } }),
  url('proxy-url by SOCKS with h', 'socks5h://127.0.0.1:@PROXY@', { proxy: { kind: 'socks5' } }),
  url('proxy-url by SOCKS with a login', 'socks5://me:secret@127.0.0.1:@PROXY@', {
    proxy: { kind: 'socks5', login: 'me:secret' },
  }),
  url(
    'proxy-url by SOCKS of a name',
    'socks5://127.0.0.1:@PROXY@',
    { proxy: { kind: 'socks5' } },
    { server: 'https://localhost:@PORT@' },
  ),
  url('proxy-url with a login', 'http://me:secret@127.0.0.1:@PROXY@', {
    proxy: { kind: 'http', login: 'me:secret' },
  }),
  url('proxy-url without a scheme', '127.0.0.1:@PROXY@'),
  url('proxy-url that is empty', ''),
  url('proxy-url that is null', null),
  url('proxy-url that is a number', 7),
  url('proxy-url that is no URL', '::'),
  url('proxy-url with an unknown scheme', 'ftp://127.0.0.1:@PROXY@'),
  url('proxy-url without a host', 'http://'),
  url('proxy-url where nothing listens', 'http://127.0.0.1:1'),
  url('proxy-url and HTTPS_PROXY', HTTP, {
    env: { HTTPS_PROXY: 'http://127.0.0.1:1' },
    server: { address: ADDRESS },
  }),
  url('proxy-url and NO_PROXY', HTTP, { env: { NO_PROXY: '*' }, server: { address: ADDRESS } }),
  url('proxy-url that is empty, and HTTPS_PROXY', '', {
    env: { HTTPS_PROXY: HTTP },
    server: { address: ADDRESS },
  }),
  url('proxy-url of plain HTTP', HTTP, { server: { plain: true } }, { server: 'http://127.0.0.1:@PORT@' }),
  url('proxy-url of IPv6', HTTP, { server: { address: '::1' } }),
  url(
    'proxy-url with insecure',
    HTTP,
    {},
    { 'certificate-authority-data': '', 'insecure-skip-tls-verify': true },
  ),
  url(
    'proxy-url by TLS with insecure',
    'https://127.0.0.1:@PROXY@',
    { proxy: { kind: 'https', certificate: 'expired' } },
    {
      ...{ 'certificate-authority-data': '', 'insecure-skip-tls-verify': true },
    },
  ),
];
