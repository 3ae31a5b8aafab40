import { expect, test } from 'vitest';
import { withoutLeaderElection } from '../../../src/local/config-files.ts';

test.each([
  [
    'a component config',
    'leaderElection:\n  leaderElect: true\n  resourceName: a\n',
    'leaderElection:\n  leaderElect: false\n  resourceName: a\n',
  ],
  [
    'a flat one, with a comment',
    'enableLeaderElection: true # one of three\n',
    'enableLeaderElection: false # one of three\n',
  ],
  ['written like the flag', 'leader-elect: "true"\n', 'leader-elect: false\n'],
  ['JSON', '{\n  "leaderElect": true,\n  "x": 1\n}\n', '{\n  "leaderElect": false,\n  "x": 1\n}\n'],
])('leader election is switched off in %s', (_, text, expected) => {
  expect(withoutLeaderElection(text)).toBe(expected);
});

test.each([
  ['off', 'leaderElection:\n  leaderElect: false\n'],
  ['not there', 'health:\n  healthProbeBindAddress: :8081\n'],
  ['a comment', '# leaderElect: true\n'],
  ['something else', 'leaderElectionResourceLock: leases\nleaderElectionReleaseOnCancel: true\n'],
])('a file where it is %s stays as it is', (_, text) => {
  expect(withoutLeaderElection(text)).toBeUndefined();
});
