import { CLUSTER, SERVER, type Situation, usual } from '../situation.ts';

const as = (name: string, user: object | undefined, more: Partial<Situation> = {}): Situation =>
  usual(name, { user }, more);
const certificate = (name: string): object => ({
  'client-certificate-data': `@PEM64:${name}@`,
  'client-key-data': `@KEY64:${name}@`,
});
const jwt = (exp: number): string =>
  `${btoa('{"alg":"none"}').replaceAll('=', '')}.${btoa(JSON.stringify({ exp })).replaceAll('=', '')}.c2ln`;
const oidc = (more: object): object => ({
  'auth-provider': {
    name: 'oidc',
    config: { 'client-id': 'me', 'idp-issuer-url': 'https://127.0.0.1:1', ...more },
  },
});
/** The recording server is an issuer, too. */
const ISSUER = { 'idp-issuer-url': `${SERVER}/issuer/`, 'idp-certificate-authority-data': '@PEM64:ca@' };
const FILES = { 'home/.kube/me.crt': '@PEM:client@', 'home/.kube/me.key': '@KEY:client@' };

/** Who logs in, and how. */
export const USERS: Situation[] = [
  as('token', { token: 'first' }),
  as('token that is rejected', { token: 'first' }, { server: { accepts: 'Bearer another' } }),
  as('token that is empty', { token: '' }),
  as('token with spaces around', { token: ' first ' }),
  as('token with a line feed at its end', { token: 'first\n' }),
  as('token with a line feed in it', { token: 'a\nb' }),
  as('token that is a number', { token: 12345 }),
  as('token that is true', { token: true }),
  as('token that is null', { token: null }),
  as(
    'token-file, which no version of kubectl knows',
    { 'token-file': '@DIR@/token' },
    { files: { token: 'second' } },
  ),
  as('tokenFile', { tokenFile: '@DIR@/token' }, { files: { token: 'second' } }),
  as(
    'tokenFile, relative to the kubeconfig',
    { tokenFile: 'token' },
    { files: { 'home/.kube/token': 'second', 'work/token': 'third' } },
  ),
  as('tokenFile with a line feed', { tokenFile: '@DIR@/token' }, { files: { token: 'second\n' } }),
  as('tokenFile with spaces', { tokenFile: '@DIR@/token' }, { files: { token: '  second \n\n' } }),
  as('tokenFile that is empty', { tokenFile: '@DIR@/token' }, { files: { token: '' } }),
  as('tokenFile that does not exist', { tokenFile: '@DIR@/token' }),
  as('tokenFile that is a directory', { tokenFile: '@DIR@' }),
  as('tokenFile and token', { tokenFile: '@DIR@/token', token: 'first' }, { files: { token: 'second' } }),
  as('tokenFile that does not exist, and token', { tokenFile: '@DIR@/token', token: 'first' }),
  as(
    'tokenFile that is empty, and token',
    { tokenFile: '@DIR@/token', token: 'first' },
    { files: { token: '' } },
  ),
  as('password', { username: 'me', password: 'secret' }),
  as('password with a colon and umlauts', { username: 'me', password: 'a:ü€' }),
  as('username alone', { username: 'me' }),
  as('password alone', { password: 'secret' }),
  as('username and token', { username: 'me', password: 'secret', token: 'first' }),
  as(
    'username and tokenFile',
    { username: 'me', password: 'x', tokenFile: '@DIR@/token' },
    { files: { token: 'second' } },
  ),
  as('password that is a number', { username: 'me', password: 12345 }),
  as('client certificate', certificate('client')),
  as('client certificate with an RSA key', certificate('client-rsa')),
  as('client certificate with a PKCS1 key', certificate('client-pkcs1')),
  as('client certificate with a SEC1 key', certificate('client-sec1')),
  as('client certificate with an encrypted key', certificate('client-encrypted')),
  as('client certificate that has expired', certificate('client-expired')),
  as(
    'client certificate in files',
    { 'client-certificate': 'me.crt', 'client-key': 'me.key' },
    { files: FILES },
  ),
  as('client certificate in files that do not exist', {
    'client-certificate': 'me.crt',
    'client-key': 'me.key',
  }),
  as('client certificate in files that are directories', {
    'client-certificate': '@DIR@',
    'client-key': '@DIR@',
  }),
  as(
    'client certificate in one file with its key',
    { 'client-certificate': 'me.pem', 'client-key': 'me.pem' },
    {
      files: { 'home/.kube/me.pem': '@KEY:client@@PEM:client@' },
    },
  ),
  as(
    'client certificate in data, its key in a file',
    { 'client-certificate-data': '@PEM64:client@', 'client-key': 'me.key' },
    { files: FILES },
  ),
  as(
    'client certificate in data and a file',
    { ...certificate('client'), 'client-certificate': 'me.crt' },
    { files: FILES },
  ),
  as(
    'client certificate with two keys',
    { ...certificate('client'), 'client-key': 'me.key' },
    { files: FILES },
  ),
  as('client certificate without a key', { 'client-certificate-data': '@PEM64:client@' }),
  as('client key alone', { 'client-key-data': '@KEY64:client@' }),
  as('client key of another', {
    'client-certificate-data': '@PEM64:client@',
    'client-key-data': '@KEY64:server@',
  }),
  as('client certificate that is none', { 'client-certificate-data': 'AAAA', 'client-key-data': 'AAAA' }),
  as('client certificate that is not base64', { 'client-certificate-data': '%', 'client-key-data': '%' }),
  as('client certificate and token', { ...certificate('client'), token: 'first' }),
  as('client certificate and username', { ...certificate('client'), username: 'me', password: 'secret' }),
  as('client certificate that nobody asks for', certificate('client'), {
    server: { asksNoCertificate: true },
  }),
  as('as', { token: 'first', as: 'jane' }),
  as('as with uid, groups and extra', {
    ...{ token: 'first', as: 'jane', 'as-uid': '7', 'as-groups': ['devs', 'ops'] },
    'as-user-extra': { reason: ['a', 'b'], 'Scopes/X y': ['é'] },
  }),
  as('as-groups with characters', { token: 'first', as: 'jane', 'as-groups': ['system:masters', 'a, b'] }),
  as('as-user-extra with percent', {
    token: 'first',
    as: 'jane',
    'as-user-extra': { 'a%b': ['c'], '': ['d'] },
  }),
  as('as-groups without as', { token: 'first', 'as-groups': ['devs'] }),
  as('as-uid without as', { token: 'first', 'as-uid': '7' }),
  as('as-groups that is text', { token: 'first', as: 'jane', 'as-groups': 'devs' }),
  as('as and no login', { as: 'jane' }),
  as('as with a client certificate', { ...certificate('client'), as: 'jane' }),
  as('nothing', {}),
  as('null', undefined),
  as('unknown settings', { token: 'first', 'what-is-this': 7 }),
  as('auth-provider gcp', { 'auth-provider': { name: 'gcp' } }),
  as('auth-provider azure', { 'auth-provider': { name: 'azure', config: {} } }),
  as('auth-provider without a name', { 'auth-provider': {} }),
  as('auth-provider that is unknown', { 'auth-provider': { name: 'unknown' } }),
  as('auth-provider oidc', oidc({ 'id-token': jwt(4_000_000_000) })),
  as('auth-provider oidc that has expired', oidc({ 'id-token': jwt(1_000_000_000) })),
  as(
    'auth-provider oidc whose issuer does not answer',
    oidc({ 'id-token': jwt(1_000_000_000), 'refresh-token': 'r' }),
  ),
  as('auth-provider oidc without a client', {
    'auth-provider': { name: 'oidc', config: { 'idp-issuer-url': 'https://x' } },
  }),
  as(
    'auth-provider oidc that has expired, with a refresh token',
    oidc({ ...ISSUER, 'id-token': jwt(1_000_000_000), 'refresh-token': 'r', 'client-secret': 's' }),
  ),
  as('auth-provider oidc with a refresh token alone', oidc({ ...ISSUER, 'refresh-token': 'r' })),
  as(
    'auth-provider oidc whose issuer is not trusted',
    oidc({ ...ISSUER, 'refresh-token': 'r', 'idp-certificate-authority-data': '@PEM64:other-ca@' }),
  ),
  as('auth-provider oidc whose refresh token is rejected', oidc({ ...ISSUER, 'refresh-token': 'old' })),
  as('auth-provider oidc whose token is none', oidc({ 'id-token': 'x' })),
  as('auth-provider oidc and token', { ...oidc({ 'id-token': jwt(4_000_000_000) }), token: 'first' }),
  usual(
    'anonymous, and no certificate is asked for',
    { user: {}, cluster: CLUSTER },
    { server: { asksNoCertificate: true } },
  ),
];
