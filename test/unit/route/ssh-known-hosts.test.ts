import { describe, expect, it } from 'vitest';
import {
  fingerprint,
  judge,
  knownLine,
  knownName,
  matchesHost,
  parseKnownHosts,
  preferredAlgorithms,
} from '../../../src/route/ssh/known-hosts.ts';
import { string } from '../../../src/route/ssh/wire.ts';

const key = (type: string, fill: number): Buffer =>
  Buffer.concat([string(type), string(Buffer.alloc(32, fill))]);
const ED = key('ssh-ed25519', 1);
const OTHER = key('ssh-ed25519', 2);
const RSA = key('ssh-rsa', 3);
const line = (hosts: string, of: Buffer): string => knownLine(hosts, of).trimEnd();
const read = (...lines: string[]) => parseKnownHosts(lines.join('\n'), 'known');

it('reads entries with their line numbers, and skips other lines', () => {
  const lines = read(
    '# comment',
    '',
    'nonsense',
    '  ',
    `@what ${line('a', ED)}`,
    `@revoked ${line('b', ED)} words`,
  );
  expect(lines).toEqual([
    {
      file: 'known',
      line: 6,
      marker: '@revoked',
      hosts: 'b',
      type: 'ssh-ed25519',
      key: ED.toString('base64'),
    },
  ]);
});

it('uses a name of its own for each port but 22', () => {
  expect(knownName('Host', 22)).toBe('host');
  expect(knownName('Host', 2222)).toBe('[host]:2222');
});

describe('the patterns of a line', () => {
  it.each([
    ['host', 'host', true],
    ['HOST', 'host', true],
    ['other,host', 'host', true],
    ['host', 'host2', false],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'example.com', false],
    ['h?st', 'host', true],
    ['*.example.com,!bad.example.com', 'bad.example.com', false],
    ['!host', 'other', false],
    ['h.st', 'host', false],
    ['[host]:2222', '[host]:2222', true],
    ['[host]:2222', 'host', false],
  ])('%s for %s: %s', (hosts, name, expected) => {
    expect(matchesHost(hosts, name)).toBe(expected);
  });

  it('can be a hashed name', () => {
    const [hashed] = knownLine('[host]:2222', ED, Buffer.alloc(20, 7)).split(' ');
    expect(hashed).toMatch(/^\|1\|/);
    expect(matchesHost(hashed!, '[host]:2222')).toBe(true);
    expect(matchesHost(hashed!, 'host')).toBe(false);
    expect(matchesHost('|1|broken', 'host')).toBe(false);
  });
});

describe('a key', () => {
  it.each([
    ['is known', [line('host', ED)], 'known'],
    ['is known next to a different one', [line('host', OTHER), line('host', ED)], 'known'],
    ['is known for the host without its port', [line('plain', ED)], 'known'],
    ['has changed', [line('host', OTHER)], 'changed'],
    [
      'is changed if it differs for this port, though the host has it on another one',
      [line('host', OTHER), line('plain', ED)],
      'changed',
    ],
    ['is unknown if only the host without its port has a different one', [line('plain', OTHER)], 'unknown'],
    ['is unknown', [line('elsewhere', ED)], 'unknown'],
    ['is unknown if the host is known with a key of another type', [line('host', RSA)], 'unknown'],
    ['is revoked, even if it is also known', [line('host', ED), `@revoked ${line('*', ED)}`], 'revoked'],
    [
      'is unknown if only a certificate authority is known',
      [`@cert-authority ${line('host', ED)}`],
      'unknown',
    ],
  ])('%s', (_, lines, kind) => {
    expect(judge(read(...lines), ['host', 'plain'], ED).kind).toBe(kind);
  });

  it('comes with the lines that explain the verdict', () => {
    const lines = read(line('host', RSA), `@cert-authority ${line('host', OTHER)}`);
    expect(judge(lines, ['host'], ED)).toMatchObject({ others: [{ line: 1 }], authority: { line: 2 } });
    expect(judge(read(line('host', OTHER)), ['host'], ED)).toMatchObject({
      line: { file: 'known', line: 1 },
    });
  });
});

it('prefers the algorithms of known keys', () => {
  expect(preferredAlgorithms(read(line('host', RSA)), ['host']).slice(0, 3)).toEqual([
    'rsa-sha2-512',
    'rsa-sha2-256',
    'ssh-ed25519',
  ]);
  expect(preferredAlgorithms(read(`@revoked ${line('host', RSA)}`), ['host'])[0]).toBe('ssh-ed25519');
});

it('shows the fingerprint that ssh-keygen -l shows', () => {
  const blob = Buffer.from('AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl', 'base64');
  // GitHub's key and the fingerprint that GitHub publishes.
  expect(fingerprint(blob)).toBe('SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU');
});
