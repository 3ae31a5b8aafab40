import { CLUSTER, config, HOME_CONFIG, SERVER, type Situation, TOKEN, usual } from '../situation.ts';

const trusting = (name: string, ca: string, certificate: string, more: Partial<Situation> = {}): Situation =>
  usual(
    name,
    { cluster: { server: SERVER, 'certificate-authority-data': `@PEM64:${ca}@` } },
    { ...more, server: { certificate, ...more.server } },
  );
const at = (name: string, server: string, more: Partial<Situation> = {}): Situation =>
  usual(name, { cluster: { ...CLUSTER, server } }, more);
const withCluster = (name: string, cluster: object, more: Partial<Situation> = {}): Situation =>
  usual(name, { cluster: { server: SERVER, ...cluster } }, more);

const PLAIN = { server: { plain: true } };
const CLIENT = { 'client-certificate-data': '@PEM64:client@', 'client-key-data': '@KEY64:client@' };

/** Where the server is, and how it is written. */
export const ADDRESSES: Situation[] = [
  at('an address', SERVER),
  at('a name', 'https://localhost:@PORT@'),
  at('a name in capitals', 'HTTPS://LOCALHOST:@PORT@'),
  at('a name that does not exist', 'https://nowhere.invalid:@PORT@'),
  at('a port where nothing listens', 'https://127.0.0.1:1'),
  at('a slash at the end', `${SERVER}/`),
  at('two slashes at the end', `${SERVER}//`),
  at('a path', `${SERVER}/clusters/a`),
  at('a path with a slash at the end', `${SERVER}/clusters/a/`),
  at('a path with two slashes', `${SERVER}/clusters//a`),
  at('a path that is encoded', `${SERVER}/clusters/a%20b`),
  at('a path with dots', `${SERVER}/clusters/../a`),
  at('a query', `${SERVER}/clusters/a?b=c`),
  at('a query without a path', `${SERVER}?b=c`),
  at('a fragment', `${SERVER}/a#b`),
  at('a user in the address', 'https://me:secret@127.0.0.1:@PORT@', {}),
  usual('a user in the address, and no other', {
    cluster: { ...CLUSTER, server: 'https://me:secret@127.0.0.1:@PORT@' },
    user: {},
  }),
  at('no scheme, with a CA', '127.0.0.1:@PORT@'),
  at('no scheme, but a name', 'localhost:@PORT@'),
  at('no scheme, but a path', 'localhost:@PORT@/a'),
  at('an unknown scheme', 'ftp://127.0.0.1:@PORT@'),
  at('a space before it', ' https://127.0.0.1:@PORT@'),
  at('a space after it', 'https://127.0.0.1:@PORT@ '),
  at('IPv6', SERVER, { server: { address: '::1' } }),
  at('IPv6 with a path', `${SERVER}/a`, { server: { address: '::1' } }),
  at('another address of this machine', SERVER, { server: { address: '10.77.0.1' } }),
  at('a name of the hosts file', 'https://api.devloop.test:@PORT@', { server: { address: '10.77.0.1' } }),
  usual('plain HTTP', { cluster: { server: 'http://127.0.0.1:@PORT@' } }, PLAIN),
  usual('plain HTTP with a CA', { cluster: { ...CLUSTER, server: 'http://127.0.0.1:@PORT@' } }, PLAIN),
  usual('plain HTTP with a path', { cluster: { server: 'http://127.0.0.1:@PORT@/a' } }, PLAIN),
  usual('plain HTTP without a scheme', { cluster: { server: '127.0.0.1:@PORT@' } }, PLAIN),
  usual(
    'plain HTTP with a password',
    { cluster: { server: 'http://127.0.0.1:@PORT@' }, user: { username: 'a', password: 'b' } },
    PLAIN,
  ),
  usual(
    'plain HTTP with impersonation',
    { cluster: { server: 'http://127.0.0.1:@PORT@' }, user: { as: 'a' } },
    PLAIN,
  ),
  usual(
    'plain HTTP with a client certificate',
    { cluster: { server: 'http://127.0.0.1:@PORT@' }, user: CLIENT },
    PLAIN,
  ),
  usual(
    'plain HTTP and insecure',
    { cluster: { server: 'http://127.0.0.1:@PORT@', 'insecure-skip-tls-verify': true } },
    PLAIN,
  ),
  at('HTTPS to a server of plain HTTP', SERVER, PLAIN),
  usual('plain HTTP to a server of HTTPS', { cluster: { server: 'http://127.0.0.1:@PORT@' } }),
];

/** Which certificate of the server is trusted. */
export const CERTIFICATES: Situation[] = [
  trusting('of a CA', 'ca', 'server'),
  trusting('of another CA', 'other-ca', 'server'),
  trusting('itself as the CA', 'self-signed', 'self-signed'),
  trusting('itself as the CA, and it is one', 'self-signed-ca', 'self-signed-ca'),
  trusting('itself as the CA, for signatures alone', 'only-signs', 'only-signs'),
  trusting('itself as the CA, though a CA signed it', 'server', 'server'),
  trusting('of an intermediate, which is the CA', 'intermediate', 'server-of-intermediate'),
  trusting('of an intermediate that is presented', 'ca', 'server-of-intermediate', {
    server: { chainOf: 'intermediate' },
  }),
  trusting('of an intermediate that nobody presents', 'ca', 'server-of-intermediate'),
  trusting('of an expired CA', 'expired-ca', 'server-of-expired-ca'),
  trusting('that has expired', 'ca', 'expired'),
  trusting('that is not valid yet', 'ca', 'not-yet-valid'),
  trusting('for another name', 'ca', 'other-name'),
  trusting('with a common name alone', 'ca', 'only-common-name'),
  trusting('for clients', 'ca', 'for-clients'),
  trusting('with a key of 2048 bits', 'ca', 'rsa-2048'),
  trusting('with a key of 1024 bits', 'ca', 'rsa-1024'),
  trusting('signed with SHA-1', 'ca', 'by-sha1'),
  usual(
    'with a wildcard',
    { cluster: { ...CLUSTER, server: 'https://api.devloop.test:@PORT@' } },
    { server: { certificate: 'wildcard', address: '10.77.0.1' } },
  ),
  withCluster('no CA', {}),
  withCluster(
    'CA: two in one file',
    { 'certificate-authority': '@DIR@/two.pem' },
    {
      files: { 'two.pem': '@PEM:other-ca@@PEM:ca@' },
    },
  ),
  withCluster(
    'CA: text around it',
    { 'certificate-authority': '@DIR@/ca.pem' },
    {
      files: { 'ca.pem': 'a comment\n@PEM:ca@\nmore\n' },
    },
  ),
  withCluster(
    'CA: a broken one after it',
    { 'certificate-authority': '@DIR@/ca.pem' },
    {
      files: { 'ca.pem': '@PEM:ca@-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
    },
  ),
  withCluster(
    'CA: a key before it',
    { 'certificate-authority': '@DIR@/ca.pem' },
    {
      files: { 'ca.pem': '@KEY:client@@PEM:ca@' },
    },
  ),
  withCluster('CA: a file that is a directory', { 'certificate-authority': '@DIR@' }),
  withCluster('CA: a file', { 'certificate-authority': '@DIR@/ca.pem' }, { files: { 'ca.pem': '@PEM:ca@' } }),
  withCluster(
    'CA: a file, relative to the kubeconfig',
    { 'certificate-authority': 'ca.pem' },
    {
      files: { 'home/.kube/ca.pem': '@PEM:ca@', 'work/ca.pem': '@PEM:other-ca@' },
    },
  ),
  withCluster(
    'CA: a file above the kubeconfig',
    { 'certificate-authority': '../pki/ca.pem' },
    {
      files: { 'home/pki/ca.pem': '@PEM:ca@' },
    },
  ),
  withCluster('CA: a file that does not exist', { 'certificate-authority': 'ca.pem' }),
  withCluster('CA: a directory', { 'certificate-authority': '@DIR@' }),
  withCluster(
    'CA: an empty file',
    { 'certificate-authority': 'ca.pem' },
    { files: { 'home/.kube/ca.pem': '' } },
  ),
  withCluster(
    'CA: a file without a certificate',
    { 'certificate-authority': 'ca.pem' },
    {
      files: { 'home/.kube/ca.pem': 'nothing' },
    },
  ),
  withCluster(
    'CA: data and a file',
    { 'certificate-authority': 'ca.pem', 'certificate-authority-data': '@PEM64:ca@' },
    {
      files: { 'home/.kube/ca.pem': '@PEM:ca@' },
    },
  ),
  withCluster('CA: data that is empty', { 'certificate-authority-data': '' }),
  withCluster('CA: data that is not base64', { 'certificate-authority-data': '%%%' }),
  withCluster('CA: data that is PEM', { 'certificate-authority-data': '@PEM:ca@' }),
  withCluster('CA: data without a certificate', { 'certificate-authority-data': 'bm90aGluZw==' }),
  withCluster('insecure', { 'insecure-skip-tls-verify': true }),
  withCluster(
    'insecure, and a wrong name',
    { 'insecure-skip-tls-verify': true },
    { server: { certificate: 'other-name' } },
  ),
  withCluster(
    'insecure, and expired',
    { 'insecure-skip-tls-verify': true },
    { server: { certificate: 'expired' } },
  ),
  withCluster('insecure with a CA', {
    'insecure-skip-tls-verify': true,
    'certificate-authority-data': '@PEM64:ca@',
  }),
  withCluster('insecure, as text', { 'insecure-skip-tls-verify': 'true' }),
  withCluster('insecure: false', {
    'insecure-skip-tls-verify': false,
    'certificate-authority-data': '@PEM64:ca@',
  }),
  withCluster(
    'tls-server-name',
    { ...CLUSTER, 'tls-server-name': 'other.devloop.test' },
    { server: { certificate: 'other-name' } },
  ),
  withCluster('tls-server-name that is wrong', { ...CLUSTER, 'tls-server-name': 'wrong.devloop.test' }),
  withCluster('tls-server-name that is an address', {
    ...CLUSTER,
    'tls-server-name': '127.0.0.1',
    server: 'https://localhost:@PORT@',
  }),
  withCluster('tls-server-name that is empty', { ...CLUSTER, 'tls-server-name': '' }),
  withCluster('tls-server-name and insecure', {
    'tls-server-name': 'x.devloop.test',
    'insecure-skip-tls-verify': true,
  }),
  withCluster('disable-compression', { ...CLUSTER, 'disable-compression': true }),
  withCluster(
    'no CA, and the variable SSL_CERT_FILE',
    {},
    { env: { SSL_CERT_FILE: '@DIR@/ca.pem' }, files: { 'ca.pem': '@PEM:ca@' } },
  ),
  withCluster(
    'no CA, and SSL_CERT_FILE with another',
    {},
    { env: { SSL_CERT_FILE: '@DIR@/ca.pem' }, files: { 'ca.pem': '@PEM:other-ca@' } },
  ),
  withCluster('no CA, and SSL_CERT_FILE that does not exist', {}, { env: { SSL_CERT_FILE: '@DIR@/ca.pem' } }),
  withCluster(
    'no CA, and the variable SSL_CERT_DIR',
    {},
    { env: { SSL_CERT_DIR: '@DIR@/cas' }, files: { 'cas/any.txt': '@PEM:ca@' } },
  ),
  withCluster(
    'no CA, and SSL_CERT_DIR with two',
    {},
    {
      env: { SSL_CERT_DIR: '@DIR@/other:@DIR@/cas' },
      files: { 'cas/any.pem': '@PEM:ca@', 'other/any.pem': '@PEM:other-ca@' },
    },
  ),
  withCluster('a CA, and another in SSL_CERT_FILE', CLUSTER, {
    env: { SSL_CERT_FILE: '@DIR@/ca.pem' },
    files: { 'ca.pem': '@PEM:other-ca@' },
  }),
  withCluster(
    'a wrong CA, and the right one in SSL_CERT_FILE',
    { 'certificate-authority-data': '@PEM64:other-ca@' },
    {
      env: { SSL_CERT_FILE: '@DIR@/ca.pem' },
      files: { 'ca.pem': '@PEM:ca@' },
    },
  ),
  withCluster(
    "no CA, and Node's own variable",
    {},
    { env: { NODE_EXTRA_CA_CERTS: '@DIR@/ca.pem' }, files: { 'ca.pem': '@PEM:ca@' } },
  ),
  withCluster(
    "no CA, and Node's variable that trusts everything",
    {},
    { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } },
  ),
  withCluster(
    "a wrong CA, and Node's variable that trusts everything",
    { 'certificate-authority-data': '@PEM64:other-ca@' },
    {
      env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    },
  ),
  usual('the server redirects', {}, { server: { redirectsTo: '/elsewhere' } }),
];

const POD = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '@PORT@' };

/** The files of a ServiceAccount are there. */
export const IN_A_POD: Situation[] = [
  { name: 'in a Pod without a kubeconfig', files: {}, env: POD },
  {
    name: 'in a Pod with IPv6',
    files: {},
    env: { ...POD, KUBERNETES_SERVICE_HOST: '::1' },
    server: { address: '::1' },
  },
  {
    name: 'in a Pod with a KUBECONFIG that does not exist',
    files: {},
    env: { ...POD, KUBECONFIG: 'nowhere' },
  },
  { name: 'in a Pod with an empty kubeconfig', files: { [HOME_CONFIG]: '' }, env: POD },
  usual('in a Pod with a kubeconfig', {}, { env: { ...POD, KUBERNETES_SERVICE_PORT: '1' } }),
  { name: 'in a Pod with a broken kubeconfig', files: { [HOME_CONFIG]: '{' }, env: POD },
  {
    name: 'in a Pod with --kubeconfig that does not exist',
    files: {},
    env: POD,
    args: ['--kubeconfig', 'nowhere'],
  },
  { name: 'in a Pod with --context', files: {}, env: POD, args: ['--context', 'one'] },
  {
    name: 'in a Pod with a kubeconfig without contexts',
    files: { [HOME_CONFIG]: { clusters: [], users: [] } },
    env: POD,
  },
  {
    name: 'in a Pod with a kubeconfig without a current context',
    files: { [HOME_CONFIG]: config({ more: { 'current-context': '' } }) },
    env: POD,
  },
  { name: 'in a Pod without the port', files: {}, env: { KUBERNETES_SERVICE_HOST: '127.0.0.1' } },
  {
    name: 'in a Pod with a proxy for other places',
    files: {},
    env: { ...POD, HTTPS_PROXY: 'http://127.0.0.1:1' },
  },
  {
    name: 'in a Pod with a user alone',
    files: { [HOME_CONFIG]: { users: [{ name: 'u', user: TOKEN }] } },
    env: POD,
  },
];
