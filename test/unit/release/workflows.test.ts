import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { actionlint } from '../../support/actionlint.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FILES = globSync('.github/workflows/*.yml', { cwd: ROOT });

interface Workflow {
  permissions?: unknown;
  jobs: Record<string, { permissions?: unknown; 'timeout-minutes'?: number }>;
}

test('actionlint finds nothing in the workflows', async () => {
  expect(FILES.length).toBeGreaterThan(1);
  const { stdout } = spawnSync(await actionlint(), FILES, { cwd: ROOT, encoding: 'utf8' });
  expect(stdout).toBe('');
}, 300_000);

test.each(FILES)('%s: actions are pinned by hash, with the version beside it', (file) => {
  const uses = readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .filter((line) => /\buses:/.test(line));
  expect(uses).not.toEqual([]);
  for (const line of uses) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test.each(FILES)('%s: jobs end, and may write only what they need', (file) => {
  const { permissions, jobs } = parse(readFileSync(join(ROOT, file), 'utf8')) as Workflow;
  for (const [name, job] of Object.entries(jobs)) {
    expect(job['timeout-minutes'], name).toBeDefined();
    if (name !== 'publish') expect(mayWrite(job.permissions ?? permissions), name).toBe(false);
  }
});

test('sees permissions that are not given, or are given in one word', () => {
  for (const permissions of [undefined, null, 'write-all', { contents: 'write' }])
    expect(mayWrite(permissions)).toBe(true);
  for (const permissions of [{}, { contents: 'read' }]) expect(mayWrite(permissions)).toBe(false);
});

/** Without permissions, a job gets what the repository's settings say, which can be all. */
function mayWrite(permissions: unknown): boolean {
  if (typeof permissions !== 'object' || permissions === null) return true;
  return Object.values(permissions).includes('write');
}
