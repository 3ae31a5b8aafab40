import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/parse.ts';

/** `line:column message` of each problem. */
function problemsOf(text: string): string[] {
  const parsed = parseConfig(text);
  return 'problems' in parsed
    ? parsed.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
    : [];
}

describe('settings', () => {
  it('are all optional', () => {
    for (const text of ['', '# only a comment\n', '---\n', '{}', 'controller:\n  # run: x\n']) {
      expect(parseConfig(text)).toEqual({ config: {} });
    }
  });

  it('are read as they are written', () => {
    const text = `
context: kind-dev
namespace: shop
service: [shop/a, b]
deployment: shop/manager
address: 192.168.1.20
port: 9443
allowFrom: [10.0.0.0/8, "fd00::/8", 192.168.1.7]
certificates: { secret: shop/tls, directory: /tmp/certs }
controller:
  build: go build -o 'bin/the manager' ./cmd
  run: [bin/the manager, --flag, "a && b"]
  watch: [cmd, internal]
  env: { PORT: 8080, WEBHOOKS: false, VERSION: 1.10, EMPTY: "", TEXT: a b }
`;
    expect(parseConfig(text)).toEqual({
      config: {
        context: 'kind-dev',
        namespace: 'shop',
        service: ['shop/a', 'b'],
        deployment: 'shop/manager',
        address: '192.168.1.20',
        port: 9443,
        allowFrom: ['10.0.0.0/8', 'fd00::/8', '192.168.1.7'],
        certificates: { secret: 'shop/tls', directory: '/tmp/certs' },
        controller: {
          build: ['go', 'build', '-o', 'bin/the manager', './cmd'],
          run: ['bin/the manager', '--flag', 'a && b'],
          watch: ['cmd', 'internal'],
          env: { PORT: '8080', WEBHOOKS: 'false', VERSION: '1.10', EMPTY: '', TEXT: 'a b' },
        },
      },
    });
  });

  it('may be indented and ended as Windows does', () => {
    expect(parseConfig('\ufeffcontext: a\r\ncontroller:\r\n    watch: [b]\r\n')).toEqual({
      config: { context: 'a', controller: { watch: ['b'] } },
    });
  });
});

describe('problems', () => {
  it('are listed all at once, each with its place', () => {
    const text = `contxt: a
context: 5
port: 70000
port: 1
build: make
controller:
  run: go build && ./manager
  wacth: [a]
  env: { A: ~ }
`;
    const placeAndKey = (problem: string): string => problem.replace(/ .*?(`.*?`).*/, ' $1');
    expect(problemsOf(text).map(placeAndKey)).toEqual([
      '1:1 `contxt`',
      '2:10 `context`',
      '3:7 `port`',
      '4:1 `port`',
      '5:1 `build`',
      '7:8 `controller.run`',
      '8:3 `controller.wacth`',
      '9:13 `controller.env.A`',
    ]);
  });

  it.each([
    ['nonsense', '1:1 the file: expected settings (`key: value`), got the text `nonsense`'],
    ['- a', '1:1 the file: expected settings (`key: value`), got a list'],
    ['context:', '1:9 `context`: expected text, got nothing'],
    ['context: true', '1:10 `context`: expected text, got true (quote it to make it text)'],
    ['context: ""', '1:10 `context`: expected text, got empty text'],
    ['context: "a\\e[2J"', '1:10 `context`: expected text, got text with a control character'],
    [
      'service: 1',
      '1:10 `service`: expected a name, or namespace/name, got the number 1 (quote it to make it text)',
    ],
    [
      'service: [a, 1]',
      '1:14 `service[1]`: expected a name, or namespace/name, got the number 1 (quote it to make it text)',
    ],
    ['service: /x', '1:10 `service`: expected a name, or namespace/name, got the text `/x`'],
    ['deployment: a/b/c', '1:13 `deployment`: expected a name, or namespace/name, got the text `a/b/c`'],
    [
      'namespace: A',
      '1:12 `namespace`: expected a namespace: lower-case letters, digits and dashes, got the text `A`',
    ],
    ['port: "9443"', '1:7 `port`: expected a number from 1 to 65535, got the text `9443`'],
    ['port: 0', '1:7 `port`: expected a number from 1 to 65535, got the number 0'],
    ['port: 1.5', '1:7 `port`: expected a number from 1 to 65535, got the number 1.5'],
    ['port: .nan', '1:7 `port`: expected a number from 1 to 65535, got the number .nan'],
    [
      'controller: { readySeconds: 1h }',
      '1:29 `controller.readySeconds`: expected a number from 1 to 3600, got the text `1h`',
    ],
    ['address: foo', '1:10 `address`: expected an IP address, such as 192.168.1.20, got the text `foo`'],
    [
      'allowFrom: 10.0.0.0/33',
      '1:12 `allowFrom`: expected a network or an address, such as 10.0.0.0/8, got the text `10.0.0.0/33`',
    ],
    [
      'allowFrom: [fd00::/8, ::ffff:10.0.0.1]',
      '1:23 `allowFrom[1]`: expected a network or an address, such as 10.0.0.0/8, got the text `::ffff:10.0.0.1`',
    ],
    [
      'allowFrom: []',
      '1:12 `allowFrom`: expected a network or an address, such as 10.0.0.0/8, got an empty list',
    ],
    [
      'redact: [.a, .b.]',
      '1:14 `redact[1]`: expected a JSONPath of fields, such as .spec.card.number, .spec.users[*].pin or ..pin, got the text `.b.`',
    ],
    [
      'relayImage: "a b"',
      '1:13 `relayImage`: expected an image, such as registry.example.com/node:24-alpine, got the text `a b`',
    ],
    [
      'route: foo',
      '1:8 `route`: expected auto, direct, relay, or ssh:[user@]host[:port], got the text `foo`',
    ],
    [
      'route: dircet',
      '1:8 `route`: expected auto, direct, relay, or ssh:[user@]host[:port], got the text `dircet`; did you mean `direct`?',
    ],
    [
      'pause: leas',
      '1:8 `pause`: expected one of auto, lease, none, got the text `leas`; did you mean `lease`?',
    ],
    [
      'controller: { log: warn }',
      '1:20 `controller.log`: expected one of all, warnings, off, got the text `warn`; did you mean `warnings`?',
    ],
    ['certificates: x', '1:15 `certificates`: expected settings (`key: value`), got the text `x`'],
    ['controller: { run: [] }', '1:20 `controller.run`: expected a command, got an empty list'],
    ['controller: { watch: a }', '1:22 `controller.watch`: expected a list of strings, got the text `a`'],
    ['controller: { env: [A=1] }', '1:20 `controller.env`: expected variables (`NAME: value`), got a list'],
    [
      'controller: { env: { "A=B": x } }',
      '1:22 `controller.env`: expected a variable name without `=` or control characters',
    ],
    ['controller: { port: 1 }', '1:15 unknown key `controller.port`; did you mean `port`?'],
    ['zzzzzz: 1', /^1:1 unknown key `zzzzzz`; expected one of context, allowContexts, namespace, /],
    ['__proto__: 1', /^1:1 unknown key `__proto__`; expected one of /],
    ['? [a]\n: b', '1:3 a key cannot be a list; expected a name'],
    ['\tcontext: a', '1:1 a tab cannot indent YAML; use spaces'],
    ['context: a\n---\ncontext: b', '2:1 expected one document, but `---` begins another one here'],
    ['context: !secret a', '1:10 tags (`!…`) are not supported'],
    [
      'service: &a [x]\ncontroller: { watch: *a }',
      /^2:22 `controller\.watch`: expected a list of strings, got an alias/,
    ],
    ['context: "a', /^1:\d+ missing closing "quote/],
  ])('%j', (text, expected) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    if (typeof expected === 'string') expect(problems[0]).toBe(expected);
    else expect(problems[0]).toMatch(expected);
  });

  it('of settings are not guessed behind a place that is no YAML', () => {
    expect(problemsOf('port: 0\ncontext: a: b\nnonsense: 1')).toEqual([
      expect.stringMatching(/^1:7 `port`/),
      expect.stringMatching(/^2:\d+ nested mappings/),
    ]);
  });
});
