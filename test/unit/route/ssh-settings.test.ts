import { expect, it } from 'vitest';
import { readSettings } from '../../../src/route/ssh/settings.ts';

const local = {
  home: '/home/dev',
  accountHome: '/home/dev',
  user: 'dev',
  uid: 1000,
  hostname: 'laptop.example.com',
  env: { SSH_AUTH_SOCK: '/run/agent', OTHER_SOCK: '/run/other' },
};
/** As in ssh_config. Written as one text, the linter would take it for a template. */
const variable = (name: string): string => ['$', '{', name, '}'].join('');
const read = (lines: string[], to = { host: 'box' }, here = local) =>
  readSettings(lines.join('\n'), to, here);

it('uses the defaults of OpenSSH if it is not installed', () => {
  expect(read([])).toMatchObject({
    alias: 'box',
    host: 'box',
    user: 'dev',
    port: 22,
    agent: '/run/agent',
    jumps: [],
    unknownHosts: 'ask',
    identitiesOnly: false,
    userKnownHosts: ['/home/dev/.ssh/known_hosts', '/home/dev/.ssh/known_hosts2'],
    aliveSeconds: 2,
    aliveCount: 2,
  });
  expect(read([]).identityFiles).toContain('/home/dev/.ssh/id_ed25519');
});

it('uses the output of ssh -G, except for what the user wrote', () => {
  const lines = ['hostname 10.0.0.1', 'user root', 'port 2222', 'hostkeyalias name', 'serveraliveinterval 5'];
  expect(read(lines)).toMatchObject({ host: '10.0.0.1', user: 'root', port: 2222, hostKeyAlias: 'name' });
  expect(read(lines)).toMatchObject({ aliveSeconds: 5, aliveCount: 3 });
  expect(read(lines, { host: 'box', user: 'me', port: 22 } as never)).toMatchObject({ user: 'me', port: 22 });
});

it('replaces tokens and variables', () => {
  const lines = [
    'hostname h',
    'identityfile ~/k-%h-%n-%r-%p',
    `identityfile %d/%%/%L/${variable('OTHER_SOCK')}/${variable('NONE')}`,
  ];
  expect(read(lines).identityFiles).toEqual([
    '/home/dev/k-h-box-dev-22',
    `/home/dev/%/laptop//run/other/${variable('NONE')}`,
  ]);
  expect(read(['hostname h', 'proxycommand nc %h %p --user %r']).proxyCommand).toBe('nc h 22 --user dev');
});

it('reads several known_hosts files, whose names ssh -G prints with blanks and without quotes', () => {
  const known = (line: string): string[] => read([line, 'hostkeyalias name']).userKnownHosts;
  expect(known('userknownhostsfile /tmp/with a blank/known /etc/known')).toEqual([
    '/tmp/with a blank/known',
    '/etc/known',
  ]);
  expect(known('userknownhostsfile ~/.ssh/%k ~/one two')).toEqual([
    '/home/dev/.ssh/name',
    '/home/dev/one two',
  ]);
  expect(known('userknownhostsfile none')).toEqual([]);
  expect(read(['userknownhostsfile %k']).userKnownHosts).toEqual(['box']);
});

it('uses HOME where OpenSSH uses the home directory of the account', () => {
  const elsewhere = { ...local, home: '/tmp/home' };
  const lines = ['userknownhostsfile /home/dev/.ssh/known_hosts /etc/known'];
  expect(read(lines, undefined, elsewhere).userKnownHosts).toEqual([
    '/tmp/home/.ssh/known_hosts',
    '/etc/known',
  ]);
});

it.each([
  ['identityagent none', undefined],
  ['identityagent SSH_AUTH_SOCK', '/run/agent'],
  ['identityagent $OTHER_SOCK', '/run/other'],
  [`identityagent ${variable('OTHER_SOCK')}`, '/run/other'],
  ['identityagent $NONE', undefined],
  ['identityagent ~/agent', '/home/dev/agent'],
])('%s', (line, agent) => {
  expect(read([line]).agent).toBe(agent);
});

it('reads a chain of jump hosts', () => {
  expect(read(['proxyjump a@one:2222,ssh://two,[::1]:22']).jumps).toEqual([
    { user: 'a', host: 'one', port: 2222 },
    { host: 'two' },
    { host: '::1', port: 22 },
  ]);
  expect(read(['proxyjump none', 'proxycommand none'])).toMatchObject({ jumps: [], proxyCommand: undefined });
});

it.each([
  ['true', 'refuse'],
  ['yes', 'refuse'],
  ['ask', 'ask'],
  ['accept-new', 'accept'],
  ['false', 'accept'],
])('StrictHostKeyChecking %s: %s', (value, expected) => {
  expect(read([`stricthostkeychecking ${value}`]).unknownHosts).toBe(expected);
});
