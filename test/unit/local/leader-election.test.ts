import { expect, test } from 'vitest';
import { electionSwitch } from '../../../src/checkout/election-switch.ts';
import { madeLocal } from './support/made-local.ts';

test.each([
  ...['leader-elect', 'enable-leader-election', 'leader-election', 'leaderElection', 'enableLeaderElection'],
  ...['LEADER_ELECT', 'ENABLE_LEADER_ELECTION', 'SHOP_LEADER_ELECT', 'SHOP_ENABLE_LEADER_ELECTION'],
  ...[
    'LEADER_ELECTION_ENABLED',
    'SHOP_LEADERELECTION',
    'manager.leader-elect',
    'leader_elector',
    'LeaderElect',
  ],
])('%s switches leader election on', (name) => {
  expect(electionSwitch(name)).toBe('on');
});

test.each([
  'disable-leader-election',
  'NO_LEADER_ELECTION',
  'SHOP_DISABLE_LEADER_ELECT',
  'leaderElectionDisabled',
])('%s switches it off', (name) => {
  expect(electionSwitch(name)).toBe('inverse');
});

test.each([
  ...[
    'LEADER_ELECTION_ID',
    'LEADER_ELECTION_NAMESPACE',
    'leader-elect-lease-duration',
    'leaderElectionResourceLock',
  ],
  ...['leaderElectionReleaseOnCancel', 'LEADER', 'ENABLE_WEBHOOKS', 'LEADER_ELECTION_RENEW_DEADLINE'],
])('%s is another setting', (name) => {
  expect(electionSwitch(name)).toBeUndefined();
});

test('variables are turned off in their own style, by name and where the sources bind them', async () => {
  const variables = {
    ENABLE_LEADER_ELECTION: 'true',
    SHOP_LEADER_ELECT: '1',
    LEADER_ELECTION_ENABLED: 'True',
    DISABLE_LEADER_ELECTION: 'no',
    SHOP_HA: 'yes',
    OTHER_HA: 'true',
    LEADER_ELECTION_ID: 'true',
    LEADER_ELECT: 'false',
    SHOP_LEADER_ELECTION: 'leases',
  };
  const { changes } = await madeLocal({ variables }, { electionVariables: new Set(['SHOP_HA']) });
  expect(changes.map(({ setting, after }) => `${setting.name}=${after}`)).toEqual([
    'ENABLE_LEADER_ELECTION=false',
    'SHOP_LEADER_ELECT=0',
    'LEADER_ELECTION_ENABLED=False',
    'DISABLE_LEADER_ELECTION=yes',
    'SHOP_HA=no',
  ]);
});

test.each([
  [
    'a component config',
    'leaderElection:\n  leaderElect: true\n  resourceName: a\n',
    'leaderElection:\n  leaderElect: false\n  resourceName: a\n',
  ],
  [
    'a flat file with a comment',
    'enableLeaderElection: true # one of three\n',
    'enableLeaderElection: false # one of three\n',
  ],
  ['a file that spells it like the flag', 'leader-elect: "true"\n', 'leader-elect: "false"\n'],
  [
    'a map of its own',
    'leaderElection:\n  enabled: yes\nmetrics:\n  enabled: true\n',
    'leaderElection:\n  enabled: no\nmetrics:\n  enabled: true\n',
  ],
  [
    'the flow style',
    'manager: {leaderElection: {enabled: true}, x: true}\n',
    'manager: {leaderElection: {enabled: false}, x: true}\n',
  ],
  ['a list of maps', 'a:\n- leader_election: on\n- b\n', 'a:\n- leader_election: off\n- b\n'],
  ['one of several documents', 'x: 1\n---\nleaderElect: true\n', 'x: 1\n---\nleaderElect: false\n'],
  [
    'a file that ends with the beginning of another document',
    'leaderElection:\n  enabled: true\n---\n',
    'leaderElection:\n  enabled: false\n---\n',
  ],
  ['an inverse setting', 'disableLeaderElection: false\n', 'disableLeaderElection: true\n'],
  ['JSON', '{\n  "leaderElect": true,\n  "x": 1\n}\n', '{\n  "leaderElect": false,\n  "x": 1\n}\n'],
  [
    'JSON on one line',
    '{"x":true,"leaderElection":{"leaderElect":true,"enabled":"true"}}',
    '{"x":true,"leaderElection":{"leaderElect":false,"enabled":"false"}}',
  ],
  ['TOML', 'x = true\nleader_elect = true # yes\n', 'x = true\nleader_elect = false # yes\n'],
  [
    'a table of TOML',
    '[metrics]\nenabled = true\n\n[manager.leader-election]\nenabled = true\n',
    '[metrics]\nenabled = true\n\n[manager.leader-election]\nenabled = false\n',
  ],
  [
    'an inline table of TOML',
    'leaderElection = { id = "x", enabled = true }\n',
    'leaderElection = { id = "x", enabled = false }\n',
  ],
  [
    'TOML with comments and the line ends of Windows',
    '[leaderElection] # a\r\nenabled = true # b\r\n[x]\r\nleaderElection = { enabled = true } # c\r\n',
    '[leaderElection] # a\r\nenabled = false # b\r\n[x]\r\nleaderElection = { enabled = false } # c\r\n',
  ],
  ['a dotted key of TOML', 'leaderElection.enabled = true\n', 'leaderElection.enabled = false\n'],
  ['properties', 'a=b\nmanager.leader-elect=true\n', 'a=b\nmanager.leader-elect=false\n'],
  [
    'a file of variables',
    'export SHOP_LEADER_ELECT="true"\nA=1\n',
    'export SHOP_LEADER_ELECT="false"\nA=1\n',
  ],
])('leader election is turned off in %s', async (_, text, expected) => {
  expect((await madeLocal({ text })).text).toBe(expected);
});

test.each([
  ['off', 'leaderElection:\n  leaderElect: false\n'],
  ['not mentioned', 'health:\n  healthProbeBindAddress: :8081\n'],
  ['only in a comment', '# leaderElect: true\nx: 1\n'],
  ['only in prose', 'leaderElect: true or false, as you like: both work\n- [x\n'],
  ['only part of other keys', 'leaderElectionResourceLock: leases\nleaderElectionReleaseOnCancel: true\n'],
])('a file in which leader election is %s stays as it is', async (_, text) => {
  expect((await madeLocal({ text })).changes).toEqual([]);
});

test.each([
  ['an open section with much space', `[${' '.repeat(50_000)}x`],
  ['many brackets', '['.repeat(50_000)],
  ['tables in tables', `${'a = {'.repeat(20_000)}${'}'.repeat(20_000)}`],
])('a file of another syntax is read to its end: %s', async (_, line) => {
  const file = (value: boolean): string =>
    `\tleader-elect = ${value}\n${line}\n[[leaderElection]] # it\nenabled = ${value}\n`;
  expect((await madeLocal({ text: file(true) })).text).toBe(file(false));
});
