import { describe, expect, it } from 'vitest';
import { jsonPath } from '../../../src/config/json-path.ts';
import { redact } from '../../../src/reviews/redact.ts';
import { namesSecret } from '../../../src/reviews/secret-names.ts';

const HIDDEN = /^<redacted \d+ bytes>$/;

describe('the data of Secrets', () => {
  const secret = {
    kind: 'Secret',
    metadata: { name: 'db', annotations: { team: 'shop' } },
    data: { user: 'YWRtaW4=', name: 'eA==' },
    stringData: { plain: 'hunter2' },
    type: 'Opaque',
  };

  it('is replaced, and the rest stays', () => {
    const { value, count } = redact(secret);
    expect(value).toMatchObject({ metadata: { name: 'db' }, type: 'Opaque' });
    const { annotations } = value.metadata;
    expect([...Object.values(value.data), value.stringData.plain, annotations.team]).toSatisfy(
      (all: string[]) => all.every((text) => HIDDEN.test(text)),
    );
    expect(count).toBe(4);
  });

  it.each([
    [
      'a review, which names the kind',
      { request: { kind: { kind: 'Secret' }, object: secret, oldObject: secret } },
    ],
    [
      'a list, whose items name none',
      { kind: 'SecretList', items: [{ data: secret.data, stringData: secret.stringData }] },
    ],
    ['what kubectl apply sent last', lastApplied(secret)],
    ['a list of kind List', { kind: 'List', items: [secret] }],
  ])('is replaced in %s', (_, value) => {
    const text = JSON.stringify(redact(value).value);
    expect(text).not.toContain('YWRtaW4=');
    expect(text).not.toContain('hunter2');
    expect(text).toContain('redacted');
  });

  it.each([
    [{ op: 'add', path: '/data/user', value: 'YWRtaW4=' }],
    [{ op: 'replace', path: '/stringData', value: { user: 'YWRtaW4=' } }],
    [{ op: 'add', path: '', value: secret }],
    [{ op: 'add', path: '/metadata/annotations/copy', value: 'YWRtaW4=' }],
    [{ op: 'add', path: '/metadata', value: { annotations: { copy: 'YWRtaW4=' } } }],
  ])('is replaced in the patch of a Secret %#', (operation) => {
    expect(
      JSON.stringify(redact({ response: { patch: [operation] } }, { isSecret: true }).value),
    ).not.toContain('YWRtaW4=');
  });
});

function lastApplied(object: object): object {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(object) };
  return { kind: 'Secret', metadata: { annotations } };
}

describe('values whose keys name a secret', () => {
  it.each([
    'token',
    'dbPassword',
    'API_KEY',
    'apiKey',
    'client-secret',
    'privateKey',
    'PASSWD',
    'awsCredentials',
    'PGPASSWORD',
    'DBPASSWORD',
    'dbpassword',
    'rootpassword',
    'MYSQL_ROOT_PASSWORD',
    'accesstoken',
    'githubToken2',
    'clientsecret',
    'AWSSecretAccessKey',
    'signingKey',
    'signing_key',
    'SIGNINGKEY',
    'accessKey',
    'AWS_ACCESS_KEY_ID',
    'encryption-key',
    'APIKeys',
    'sshPrivateKey',
    'DB_PASS',
    'MYSQL_PWD',
    'rsa.private',
    'aws-creds',
    '.dockerconfigjson',
    'DOCKER_CONFIG_JSON',
    'client-key-data',
  ])('%s does', (key) => {
    expect(namesSecret(key)).toBe(true);
    expect(redact({ spec: { [key]: 'hunter2' } })).toEqual({
      value: { spec: { [key]: '<redacted 7 bytes>' } },
      count: 1,
    });
    expect(redact({ note: `run a ${key}=hunter2` }).value.note).toBe(`run a ${key}=<redacted 7 bytes>`);
  });

  it.each([
    'secretName',
    'tokenRef',
    'passwordFile',
    'replicas',
    'image',
    'secretKeyRef',
    'tokenExpirationSeconds',
    'key',
    'authentication.kubernetes.io/credential-id',
    'secretname',
    'PASSWORD_FILE',
    'secretRefs',
    'tokenTTL',
    'tokenUrl',
    'maxTokens',
    'passwordPolicy',
    'credentialSpec',
    'gmsaCredentialSpecName',
    'imagePullSecrets',
    'existingSecret',
    'keyRef',
    'matchKeys',
    'topologyKey',
    'publicKey',
    'passThrough',
    'privateSubnets',
    'PWD',
    'csi.storage.k8s.io/provisioner-secret-namespace',
  ])('%s does not', (key) => {
    expect(redact({ spec: { [key]: 'web' } })).toEqual({ value: { spec: { [key]: 'web' } }, count: 0 });
  });

  it('are replaced wherever they are below the key, references aside', () => {
    const volume = {
      secret: { secretName: 'db', defaultMode: 420 },
      credentials: { user: 'a', deep: [{ pass: 'b' }] },
    };
    expect(redact(volume).value).toEqual({
      secret: { secretName: 'db', defaultMode: 420 },
      credentials: { user: '<redacted 1 bytes>', deep: [{ pass: '<redacted 1 bytes>' }] },
    });
  });

  it('are kept where they say which key of a Secret it is', () => {
    const spec = {
      password: { name: 'db', key: 'admin' },
      volumes: [{ secret: { secretName: 'db', items: [{ key: 'ca.crt', path: 'ca' }], optional: true } }],
      privateKey: { algorithm: 'ECDSA', size: 256 },
      env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'db', key: 'token' } } }],
      projected: { serviceAccountToken: { audience: 'api', expirationSeconds: 3600, path: 'token' } },
      imagePullSecrets: [{ name: 'registry' }],
      secrets: [{ name: 'db', uid: 'u', resourceVersion: '7', fieldPath: 'data' }],
    };
    expect(redact({ spec })).toEqual({ value: { spec }, count: 0 });
    const credentials = { name: 'ann', key: 'hunter2', region: 'x' };
    expect(JSON.stringify(redact({ credentials }).value)).not.toContain('hunter2');
  });

  it('are kept in selectors, tolerations and topologies, and where a variable stands for another one', () => {
    const spec = {
      selector: { matchExpressions: [{ key: 'token', operator: 'In', values: ['a'] }], matchKeys: ['token'] },
      tolerations: [{ key: 'secret-nodes', operator: 'Equal', value: 'yes', effect: 'NoSchedule' }],
      topologySpreadConstraints: [{ topologyKey: 'zone' }],
      args: ['--password=$(DB_PASSWORD)', '--rotate-tokens=true', '--token-file=/var/token'],
      env: [
        { name: 'USE_TOKEN', value: 'true' },
        { name: 'PASSWORD', value: '$(OTHER)' },
      ],
    };
    expect(redact({ spec })).toEqual({ value: { spec }, count: 0 });
  });

  it('are replaced in entries with a key, in headers, and in arguments', () => {
    const spec = {
      parameters: [{ key: 'dbpassword', value: 'hunter2' }],
      httpHeaders: [{ name: 'Authorization', value: 'Basic hunter2' }],
      args: ['--db-password=hunter2 hunter2', '--token', 'hunter2', 'serve'],
      command: ['sh', '-c', 'exec env TOKEN=hunter2 serve --access-key=hunter2 --mode=fast'],
    };
    const text = JSON.stringify(redact({ spec }).value);
    expect(text).not.toContain('hunter2');
    expect(text).toContain('--mode=fast');
    expect(text).toContain('serve');
  });

  it('are replaced in headers, wherever these are', () => {
    const spec = {
      headers: { Authorization: 'Bearer hunter2hunter2', 'proxy-authorization': 'Basic aHVudGVyMg==' },
      args: ['-H', 'Authorization: Bearer hunter2hunter2', '--header=authorization: token hunter2hunter2'],
      command: ['sh', '-c', 'curl -H "Authorization: Basic hunter2hunter2" example.com'],
      nginx: 'proxy_set_header Authorization "Bearer hunter2hunter2";\n',
      yaml: 'headers:\n  Authorization: Bearer hunter2hunter2\n',
    };
    const { value, count } = redact({ spec });
    expect(JSON.stringify(value)).not.toMatch(/hunter2|aHVud/);
    expect(count).toBe(7);
    expect(redact(value).value).toEqual(value);
    const open = {
      authorization: 'enabled',
      args: ['Authorization: Bearer $(API_TOKEN)'],
      message: 'authorization: basic is not possible',
    };
    expect(redact({ open })).toEqual({ value: { open }, count: 0 });
    const spaces = `authorization${' '.repeat(500_000)}`;
    expect(redact({ spaces }).value).toEqual({ spaces });
  });

  it('are replaced where an operation names the value of a variable by its place', () => {
    const object = { spec: { env: [{ name: 'MODE' }, { name: 'PGPASSWORD', value: 'old' }] } };
    const patch = [
      { op: 'add', path: '/spec/env/0', value: { name: 'A', value: 'b' } },
      { op: 'replace', path: '/spec/env/2/value', value: 'hunter2' },
      { op: 'replace', path: '/spec/volumes/0/secret/secretName', value: 'db' },
      { op: 'replace', path: '/spec/image', value: 'nginx' },
    ];
    const { value, count } = redact({ patch }, { object });
    expect(value.patch.toSpliced(1, 1)).toEqual(patch.toSpliced(1, 1));
    expect(value.patch[1]!.value).toMatch(HIDDEN);
    expect(count).toBe(1);
  });

  it('are replaced in variables and in patches, whose own words name them', () => {
    const env = [
      { name: 'DB_PASSWORD', value: 'hunter2' },
      { name: 'MODE', value: 'fast' },
    ];
    const patch = [{ op: 'add', path: '/spec/token', value: 'hunter2' }];
    expect(redact({ env, patch }).value).toEqual({
      env: [{ name: 'DB_PASSWORD', value: '<redacted 7 bytes>' }, env[1]],
      patch: [{ op: 'add', path: '/spec/token', value: '<redacted 7 bytes>' }],
    });
  });

  it('stay numbers and booleans, so that the object fits its schema', () => {
    expect(redact({ password: 1234, automountServiceAccountToken: false }).value).toEqual({
      password: 0,
      automountServiceAccountToken: false,
    });
  });
});

/** Each of these makes a megabyte that a careless pattern would read again and again. */
const HOSTILE = [
  ...['token', '-', ' ', "password='", '"', '=', 'a:', '://a:', '://a:1/', '://a:b@', '[{', '{', '{token: {'],
  ...[';', 'a=b;', 'a b ', 'token=;', 'token=$(', '(token: ', '- token:\n', 'token:\n', 'token: [\n'],
  ...[
    'token: "\n',
    'token: """\n',
    'eyJhbGciOiJub25lIn0.',
    'eyJ',
    'aaaaaaaaaaaaaaaaaaaaaaaa\n',
    'LS0tLS1CRUdJTi',
  ],
  ...['a/b/c/d/e/f/g/h/i/j/k/l/m/n/', '-----BEGIN A-----', '-----BEGIN CERTIFICATE-----\n', '{secret:{a:'],
  ...['authorization: basic ', 'x-token: ', 'cookie', '\n\t', 'docker-', 'a@tcp(', 'a:b@/', '\\"'],
];

describe('texts that hold more than one value', () => {
  it.each([
    ['JSON', '{"mode":"fast","dbpassword":"hunter2"}', '{"mode":"fast","dbpassword":"<redacted 7 bytes>"}'],
    [
      'a Secret as JSON',
      ' {"kind":"Secret","data":{"user":"hunter2"}}',
      '{"kind":"Secret","data":{"user":"<redacted 7 bytes>"}}',
    ],
    ['properties', 'mode=fast\ndb.password=hunter2 x\n', 'mode=fast\ndb.password=<redacted 9 bytes>\n'],
    [
      'YAML',
      'mode: fast\nauth:\n  - token: "hunter2"\n    secretName: db\n',
      'mode: fast\nauth:\n  - token: <redacted 9 bytes>\n    secretName: db\n',
    ],
    [
      'a block of YAML',
      'token: |\n  hunter2\n\n  hunter2\nmode: fast',
      'token: |\n  <redacted 7 bytes>\n\n  <redacted 7 bytes>\nmode: fast',
    ],
    ['a URL', 'postgres://ann:hunter2@db:5432/shop', 'postgres://ann:<redacted 7 bytes>@db:5432/shop'],
    ['a data source', "host=db password='hunter2' user=a", 'host=db password=<redacted 9 bytes> user=a'],
  ])('%s', (_, text, safe) => {
    expect(redact({ data: { config: text } }).value.data.config).toBe(safe);
    // As in a review that is sent again.
    expect(redact({ data: { config: safe } }).value.data.config).toBe(safe);
  });

  it.each([
    'registry.example.com/token-service:v1.2',
    'token-service:v1.2',
    '{"secretName": "db",  "mode": "fast"}',
    '{"secretName": cut',
    'a,token-service:v1.2',
    'https://example.com:8443/token?user=ann@example.com',
  ])('stay as they are without a secret: %s', (text) => {
    expect(redact({ text })).toEqual({ value: { text }, count: 0 });
  });

  it('is told apart from what a program says about an object', () => {
    const message = '2 errors:\nspec.password: Required value\ntoken: too short';
    expect(redact({ message })).toEqual({ value: { message }, count: 0 });
    expect(redact({ message: 'cannot log in with password=hunter2' }).value.message).not.toContain('hunter2');
  });

  it('may be as long and as strange as they like', () => {
    for (const part of HOSTILE) {
      const text = part.repeat(Math.ceil(2 ** 20 / part.length));
      for (const one of [text, `\n${text}`, `{token: ${text}`, `${text}@`])
        expect(redact({ one }).value.one).not.toBe('');
    }
  });
});

describe('PEM blocks', () => {
  const key = '-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMHc=\n-----END EC PRIVATE KEY-----';

  it('are replaced, and what is around them stays', () => {
    expect(redact({ config: `cert: |\n${key}\nmode: fast\n${key}` })).toEqual({
      value: {
        config: `cert: |\n<redacted ${key.length} bytes>\nmode: fast\n<redacted ${key.length} bytes>`,
      },
      count: 2,
    });
  });

  it('are replaced to the end of the text where they have none', () => {
    expect(redact({ config: key.slice(0, -20) }).value.config).toBe(`<redacted ${key.length - 20} bytes>`);
  });

  it('may begin very often', () => {
    expect(redact({ text: '-----BEGIN A'.repeat(50_000) }).count).toBe(1);
  });
});

describe('what the user names', () => {
  const paths = (...texts: string[]) => ({ paths: texts.map((text) => jsonPath(text)!) });
  const object = {
    apiVersion: 'shop/v1',
    kind: 'Order',
    spec: {
      card: { number: '4111', cvc: 123, name: 'Ann', isGold: true },
      lines: [{ pin: 'a' }, { pin: 'b' }],
    },
  };
  const hidden = { number: '<redacted 4 bytes>', cvc: 0, name: '<redacted 3 bytes>', isGold: false };

  it.each([
    ['.spec.card', { ...object.spec, card: hidden }],
    ['{.spec.card}', { ...object.spec, card: hidden }],
    ["$['spec'].card.cvc", { ...object.spec, card: { ...object.spec.card, cvc: 0 } }],
    ['.spec.lines[1].pin', { ...object.spec, lines: [{ pin: 'a' }, { pin: '<redacted 1 bytes>' }] }],
    ['..pin', { ...object.spec, lines: [{ pin: '<redacted 1 bytes>' }, { pin: '<redacted 1 bytes>' }] }],
    [
      '.spec.lines[*].pin',
      { ...object.spec, lines: [{ pin: '<redacted 1 bytes>' }, { pin: '<redacted 1 bytes>' }] },
    ],
    ['.card', object.spec],
  ])('is replaced wherever the object is: %s', (path, spec) => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(object) };
    const applied = { ...object, metadata: { annotations } };
    const review = {
      kind: 'AdmissionReview',
      apiVersion: 'v1',
      request: { object: applied, oldObject: object },
    };
    const { request } = redact(review, paths(path)).value;
    expect(request.object.spec).toEqual(spec);
    expect(request.oldObject.spec).toEqual(spec);
    const [copy] = Object.values(request.object.metadata.annotations);
    expect(JSON.parse(copy!).spec).toEqual(spec);
  });

  it.each([
    [{ op: 'replace', path: '/spec/card/number', value: 'x' }],
    [{ op: 'add', path: '/spec', value: { card: { number: 'x' } } }],
    [{ op: 'add', path: '/spec/card/number/deeper', value: { a: ['x'] } }],
  ])('is replaced in a patch: %j', (operation) => {
    const { value, count } = redact({ patch: [operation] }, paths('.spec.card.number'));
    expect(count).toBe(1);
    expect(JSON.stringify(value)).not.toContain('"x"');
    expect(redact({ patch: [operation] }, paths('.spec.other')).value).toEqual({ patch: [operation] });
  });

  it('is a JSONPath of fields; filters and the like are not understood', () => {
    for (const text of ['', '$', '.a[?(@.b)]', '.a[0:2]', '.a b', '{.a', '.a..', "['a"])
      expect(jsonPath(text), text).toBe(undefined);
    expect(jsonPath('.metadata.annotations.example\\.com/pin')).toMatchObject([
      { key: 'metadata' },
      { key: 'annotations' },
      { key: 'example.com/pin' },
    ]);
  });
});

it('replaces what is nested deeper than any object of Kubernetes, and counts it', () => {
  const text = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
  const { value, count } = redact({ kept: 1, deep: JSON.parse(text) });
  expect(count).toBe(1);
  expect(value.kept).toBe(1);
  expect(JSON.stringify(value)).toMatch(/"a":"<redacted: more than 200 levels>"\}/);
});
