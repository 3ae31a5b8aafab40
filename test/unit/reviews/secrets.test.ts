import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact } from '../../../src/reviews/redact.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const url64 = (text: string): string => Buffer.from(text).toString('base64url');
const pem = (label: string, body: string): string =>
  `-----BEGIN ${label}-----\n${body.replaceAll(/.{1,64}/g, '$&\n')}-----END ${label}-----\n`;

/** Any characters that each structure allows in a password, and at least eight, so that no other part of the text contains it by chance. */
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'.split('');
const secretOf = (more = '') =>
  fc
    .tuple(
      fc.array(fc.constantFrom(...letters), { minLength: 8, maxLength: 8 }),
      fc.array(fc.constantFrom(...letters, ...more), { maxLength: 12 }),
      fc.constantFrom(...letters),
    )
    .map(([first, rest, last]) => `${first.join('')}${rest.join('')}${last}`);

/** Each structure, the characters that a secret can have in it besides letters and digits, and where it is planted. */
const STRUCTURES: [string, string, (secret: string) => unknown][] = [
  [
    'an annotation of a Secret',
    ' :=;,',
    (secret) => ({ kind: 'Secret', metadata: { annotations: { copy: secret } } }),
  ],
  ['a PEM block', '+/', (secret) => pem('PRIVATE KEY', secret)],
  ['a PEM block in base64', '+/', (secret) => `key ${base64(pem('EC PRIVATE KEY', secret))} end`],
  [
    'a PEM block in base64, in lines',
    '+/',
    (secret) => base64(pem('EC PRIVATE KEY', secret.repeat(9))).replaceAll(/.{76}/g, '$&\n'),
  ],
  [
    'a PEM block that pretends to be public',
    '+/',
    (secret) => `-----BEGIN CERTIFICATE-----\n${secret}\n-----END PRIVATE KEY-----`,
  ],
  [
    'JSON in base64',
    ' :=;,@/',
    (secret) => base64(JSON.stringify({ auths: { 'r.example.com': { password: secret } } })),
  ],
  [
    'the signature of a JWT',
    '-_',
    (secret) => `send ${url64('{"alg":"HS256"}')}.${url64('{"sub":"ann"}')}.${secret} now`,
  ],
  ['a data source name', " :=,@/'", (secret) => `Server=db;User Id=ann;Password=${secret};Encrypt=true`],
  [
    'a data source name with spaces in its names',
    ' :=,@/',
    (secret) => `Endpoint=sb://x/;Shared Access Key=${secret}`,
  ],
  ["Go's MySQL driver", ':@/;=!$', (secret) => `ann:${secret}@tcp(db:3306)/shop?parseTime=true`],
  [
    "Go's MySQL driver, in a variable",
    ':@/!$',
    (secret) => `exec env DSN=ann:${secret}@unix(/tmp/sock)/shop serve`,
  ],
  ['a URL', ':@/;=!$?#', (secret) => `postgres://ann:${secret}@db:5432/shop`],
  ['a URL of the web', ':@/!$', (secret) => `see https://ann:x${secret}@example.com/path`],
  ['a list of URLs', ':@!$', (secret) => `http://a:2379,http://ann:x${secret}@b:2379`],
  ['an inline table of TOML', ' :;@/', (secret) => `db = { user = "ann", password = "${secret}" }`],
  ['a text of several lines in TOML', ' :;@/=', (secret) => `password = """\n${secret}\n"""\nmode = "fast"`],
  ['a flow map of YAML', ' :;@/', (secret) => `db: {user: ann, password: ${secret}}\nmode: fast`],
  ['a flow map of YAML on one line', ':;@/', (secret) => `{user: ann, password: ${secret}, mode: fast}`],
  ['a list of YAML', ' ;@/', (secret) => `tokens:\n- ${secret}\n- ${secret}\nmode: fast`],
  ['a value of YAML on the next line', ' ;@/', (secret) => `token:\n  ${secret}\nmode: fast`],
  ['a value of YAML that continues', ' ;@/', (secret) => `- token: first\n    ${secret}\n  mode: fast`],
  ['a quoted value of YAML that continues', ' ;@/', (secret) => `token: "first\n  ${secret}"\nmode: fast`],
  ['JSON after a comment', ' :;@/,', (secret) => `// local\n{"user": "ann", "password": "${secret}"}`],
  ['JSON with comments in lines', ' :;@/,', (secret) => `{\n // local\n "tokens": [\n  "${secret}"\n ]\n}`],
  ['JSON that was cut', ' :;@/,', (secret) => `{"user":"ann","password":"${secret}`],
  [
    'JSON in a message',
    ' :;@/,',
    (secret) => ({ message: `spec: Invalid value: {"password":"${secret}"}: no` }),
  ],
  ['a header', ' :;@/,=', (secret) => `X-Api-Key: ${secret}`],
  ['a header in a command', ':;@/,=', (secret) => ({ args: ['curl', '-H', `X-Auth-Token: ${secret}`] })],
  ['a header in a shell', ':;@/,=', (secret) => `curl -H "apikey: ${secret}" example.com`],
  ['a cookie', ':@/,=', (secret) => `Cookie: session=${secret}; a=b`],
  ['the file of a key', '+/=', (secret) => ({ kind: 'ConfigMap', data: { 'tls.key': secret } })],
  ['a line for the file of a key', '+/=', (secret) => `tls.key: ${secret}\na: b`],
  ['a query', '!$:', (secret) => `https://example.com/?mode=fast&access_token=${secret}`],
  ['words and values', '!$:@/', (secret) => `host=db password = '${secret}' user=ann`],
];

/** The texts that are in base64, also in several lines. */
function decodedIn(shown: string): string[] {
  const runs = shown.replaceAll('\\n', '').match(/[\w+/-]{12,}/g) ?? [];
  return runs.map((run) => Buffer.from(run, 'base64').toString('latin1'));
}

describe('a secret in', () => {
  it.each(STRUCTURES)('%s never survives', (_, more, plant) => {
    fc.assert(
      fc.property(secretOf(more), (secret) => {
        const value = { spec: plant(secret) };
        const shown = JSON.stringify(redact(value).value);
        for (const form of [shown, ...decodedIn(shown)]) expect(form).not.toContain(secret);
        // As in a review that is sent again.
        const again = redact(redact(value).value);
        expect(JSON.stringify(again.value)).toBe(shown);
      }),
      { numRuns: 60 },
    );
  });
});

const hex = (length: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length })
    .map((all) => all.join(''));
const name = fc
  .stringMatching(/^[a-z](?:[a-z0-9-]{0,20}[a-z0-9])?$/)
  .filter((one) => !/pass|pwd|token|secret|cred|key|private|psk|cookie/.test(one));
const bytes = fc
  .uint8Array({ minLength: 300, maxLength: 600 })
  .map((all) => Buffer.from(all).toString('base64'));

/** What reviews are full of, and what authors need. */
const HARMLESS: [string, fc.Arbitrary<unknown>][] = [
  ['an image with a tag', fc.tuple(name, name).map(([a, b]) => `registry.example.com:5000/${a}/${b}:v1.2`)],
  [
    'an image with a digest',
    fc.tuple(name, hex(64)).map(([a, digest]) => `ghcr.io/${a}/web:v1@sha256:${digest}`),
  ],
  ['a digest', hex(64).map((digest) => `sha256:${digest}`)],
  ['a commit', hex(40)],
  ['a uid', fc.uuid()],
  ['a name', fc.tuple(name, name).map(([a, b]) => `${a}.${b}.svc.cluster.local`)],
  [
    'a reference',
    name.map((one) => ({ secretName: one, valueFrom: { secretKeyRef: { name: one, key: 'token' } } })),
  ],
  ['a certificate', bytes.map((body) => pem('CERTIFICATE', body))],
  [
    'several certificates',
    fc
      .array(bytes, { minLength: 2, maxLength: 3 })
      .map((all) => all.map((body) => pem('CERTIFICATE', body)).join('')),
  ],
  ['a CA bundle', bytes.map((body) => ({ caBundle: base64(pem('CERTIFICATE', body)) }))],
  ['a URL', fc.tuple(name, name).map(([a, b]) => `https://${a}.example.com:8443/${b}?mail=ann@example.com`)],
  ['a repository', name.map((one) => `git@github.com:example/${one}.git`)],
  ['a Go module', name.map((one) => `go install example.com/${one}@v1.2.3`)],
  ['a time', fc.date({ noInvalidDate: true }).map((date) => date.toISOString())],
  ['YAML', fc.tuple(name, name).map(([a, b]) => `mode: ${a}\nlist: [a, b]\nmap: {x: ${b}}\n`)],
  [
    'variables',
    name.map((one) => ({ args: ['--password=$(DB_PASSWORD)', `--zone=${one}`], text: '{token: $(TOKEN)}' })),
  ],
];

it.each(HARMLESS)('%s survives', (_, arbitrary) => {
  fc.assert(
    fc.property(arbitrary, (value) => {
      expect(redact({ spec: { value } })).toEqual({ value: { spec: { value } }, count: 0 });
    }),
    { numRuns: 60 },
  );
});
