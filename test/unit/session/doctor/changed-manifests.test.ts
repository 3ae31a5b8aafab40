import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { changedManifests } from '../../../../src/session/doctor/manifests.ts';
import { directoryWith } from '../../controller/support/places.ts';

const CRD = 'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n';
const SINCE = new Date('2026-06-01T00:00:00Z');
const { signal } = new AbortController();

function gitIn(directory: string, date: string) {
  const env = { ...process.env, GIT_COMMITTER_DATE: date };
  return (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: directory, env });
}

it('are those that were committed or edited after the manager started, of a kind that is applied', async () => {
  const directory = await directoryWith({
    'config/crd/old.yaml': CRD,
    'config/crd/edited.yaml': CRD,
    'config/crd/removed.yaml': CRD,
    'config/rbac/committed.yaml': CRD,
  });
  const before = gitIn(directory, '2026-05-31T00:00:00Z');
  before('init', '--quiet');
  before('add', '.');
  before('commit', '--quiet', '-m', 'before');
  expect(await changedManifests(directory, SINCE, signal)).toEqual([]);
  const role = '  kind: "ClusterRole"\n';
  writeFileSync(join(directory, 'config/rbac/committed.yaml'), role);
  writeFileSync(join(directory, 'config/rbac/sample.yaml'), 'kind: Application\n');
  const after = gitIn(directory, '2026-06-02T00:00:00Z');
  after('add', '.');
  after('rm', '--quiet', 'config/crd/removed.yaml');
  after('commit', '--quiet', '-m', 'after');
  writeFileSync(join(directory, 'config/crd/edited.yaml'), `${CRD}metadata: {}\n`);
  writeFileSync(join(directory, 'config/crd/new.yaml'), CRD);
  writeFileSync(join(directory, 'main.go'), 'package main\n');
  expect(await changedManifests(directory, SINCE, signal)).toEqual([
    'config/crd/edited.yaml',
    'config/crd/new.yaml',
    'config/rbac/committed.yaml',
  ]);
  const later = new Date(Date.now() + 60_000);
  expect(await changedManifests(directory, later, signal)).toEqual([]);
});

it('are not known outside a repository', async () => {
  const directory = await directoryWith({ 'crd.yaml': CRD });
  expect(await changedManifests(directory, SINCE, signal)).toBeUndefined();
});

it('git runs no program that the checkout names, and writes nothing', async () => {
  const directory = await directoryWith({
    'crd.yaml': CRD,
    '.gitattributes': '*.yaml filter=evil\n',
    'evil.sh': '#!/bin/sh\ntouch "$(dirname "$0")/RAN"\ncat\n',
  });
  const program = join(directory, 'evil.sh');
  chmodSync(program, 0o755);
  const git = gitIn(directory, '2026-05-31T00:00:00Z');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'x');
  git('config', 'core.fsmonitor', program);
  git('config', 'filter.evil.clean', program);
  git('config', 'log.showSignature', 'true');
  git('config', 'gpg.program', program);
  for (const hook of ['post-index-change', 'fsmonitor-watchman']) {
    writeFileSync(join(directory, '.git/hooks', hook), `#!/bin/sh\ntouch ${join(directory, 'RAN')}\n`, {
      mode: 0o755,
    });
  }
  writeFileSync(join(directory, 'crd.yaml'), `${CRD}metadata: {}\n`);
  expect(await changedManifests(directory, SINCE, signal)).toEqual(['crd.yaml']);
  expect(existsSync(join(directory, 'RAN'))).toBe(false);
});
