import { spawnSync } from 'node:child_process';
import { access, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { askGit, buildId } from '../../../src/controller/build-id.ts';
import { createAnswering, stampOf } from '../../../src/reviews/answering-build.ts';

import { directoryWith } from './support/places.ts';

const NEVER = new AbortController().signal;

it('is short, the same for the same program, and says what it does not know', () => {
  const at = new Date(2026, 10, 22, 9, 5, 7).getTime();
  const id = buildId({ content: 'abc', at, isDirty: true });
  expect(id).toMatch(/^[0-9a-f]{7} 09:05:07 \+dirty$/);
  expect(buildId({ content: 'abc', at, isDirty: false })).toBe(id.replace(' +dirty', ''));
  expect(buildId({ content: undefined, at, isDirty: 'unknown' })).toBe('09:05:07 +dirty?');
  expect(buildId({ content: undefined, at, isDirty: undefined })).toBe('09:05:07');
});

it('its warning fits into what kube-apiserver passes on', () => {
  const answering = createAnswering();
  expect(stampOf(answering.now())).toEqual([]);
  answering.observe({ type: 'controller.started', pid: 1, command: [], build: '3f2a91c 10:14:58 +dirty?' });
  expect(stampOf(answering.now())).toEqual(['devloop: build 3f2a91c 10:14:58 +dirty? answered']);
  answering.observe({ type: 'build.failed', ms: 1, output: '' });
  expect(stampOf(answering.now())[0]).toMatch(/\bold build\b/);
  expect(stampOf(answering.now())[0]!.length).toBeLessThanOrEqual(120);
});

it('is dirty as git sees it, and runs nothing that the checkout names', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'devloop-build-id-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const git = (...args: string[]) => expect(spawnSync('git', args, { cwd }).status).toBe(0);
  const answer = () => askGit({ cwd, build: 0 }, NEVER).answer();
  expect(await answer()).toBe(undefined);
  git('init', '-q');
  const ran = join(cwd, '.git/ran');
  await writeFile(join(cwd, 'a'), 'one');
  git('add', 'a');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'a');
  git('config', 'core.fsmonitor', `touch ${ran}; false`);
  git('config', 'filter.x.clean', `touch ${ran}; cat`);
  await writeFile(join(cwd, '.git/info/attributes'), '* filter=x\n');
  expect(await answer()).toBe(false);
  await writeFile(join(cwd, 'new'), '');
  expect(await answer()).toBe(true);
  await expect(access(ran)).rejects.toThrow();
});

it.each([
  [0, false],
  [1, 'unknown'],
])(
  'waits longer for git where nothing had to be built, which only the first build can be: %s',
  async (build, expected) => {
    const tools = await directoryWith({ git: '#!/bin/sh\nsleep 0.15\n' });
    await chmod(join(tools, 'git'), 0o755);
    const before = process.env.PATH;
    process.env.PATH = `${tools}:${before}`;
    onTestFinished(() => {
      process.env.PATH = before;
    });
    expect(await askGit({ cwd: tools, build }, NEVER).answer()).toBe(expected);
  },
);
