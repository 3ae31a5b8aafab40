import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { readDockerfile } from '../../../../src/checkout/image/dockerfile.ts';
import { programName, startedWords } from '../../../../src/checkout/image/started-words.ts';
import { containerArguments } from '../../../../src/local/container-arguments.ts';
import type { Target } from '../../../../src/operator/target.ts';
import { partly } from '../../../support/partly.ts';

/** What the words start, for a program that gets the argument --a. */
const STARTS: [words: string[], program: string][] = [
  [['/manager', '--a'], '/manager'],
  [['/sbin/tini', '--', '/manager', '--a'], '/manager'],
  [['tini', '-g', '-p', 'SIGTERM', '-e', '143', 'manager', '--a'], 'manager'],
  [['dumb-init', '--rewrite', '15:2', '/manager', '--a'], '/manager'],
  [['docker-init', '-s', '--', 'manager', '--a'], 'manager'],
  [['gosu', 'nobody', '/manager', '--a'], '/manager'],
  [['/sbin/su-exec', '65532:65532', '/manager', '--a'], '/manager'],
  [['tini', '--', 'gosu', '1000', '/manager', '--a'], '/manager'],
  [['env', '-u', 'HOME', 'A=1', '/manager', '--a'], '/manager'],
  [['sh', '-c', '/manager --a'], '/manager'],
  [['/bin/sh', '-ec', 'exec "/manager" --a'], '/manager'],
  [['bash', '-euo', 'pipefail', '-c', 'A=1 exec /manager --a'], '/manager'],
  [['sh', '-c', 'exec tini -- su-exec nobody /manager --a'], '/manager'],
];

test.each(STARTS)('what %j starts is the same for all who ask', async (words, program) => {
  expect(startedWords(words)).toEqual([program, '--a']);
  expect(programName(words)).toBe(basename(program));
  expect(argumentsOf({ command: words })).toEqual(['--a']);
  expect(argumentsOf({ command: words.slice(0, 1), args: words.slice(1) })).toEqual(['--a']);
  expect(await programsOf(`ENTRYPOINT ${JSON.stringify(words)}`)).toEqual([basename(program)]);
});

test.each<[string[], string | undefined]>([
  [['sh', '-c', 'prepare; exec /manager "$@"'], 'manager'],
  [['tini', '--', 'sh', '-c', 'a && b'], undefined],
  [['/bin/sh', '/run.sh', '--a'], 'run.sh'],
])('in the script of %j, only the program can be known', (words, program) => {
  expect(programName(words)).toBe(program);
  expect(argumentsOf({ command: words })).toEqual([]);
});

test.each<[string, string[]]>([
  ['a subcommand, if the image is not known', ['exec', '/manager', '--a']],
  ['a subcommand with a variable, if the image is not known', ['env', 'A=1']],
])('a word can be %s', (_, args) => {
  expect(argumentsOf({ args })).toEqual(args);
});

function argumentsOf(container: { command?: string[]; args?: string[] }): string[] {
  const target = partly<Target>({
    manager: { container: { name: 'manager', ...container }, object: { spec: { template: { spec: {} } } } },
  });
  return containerArguments(target, undefined, () => {});
}

async function programsOf(dockerfile: string): Promise<string[]> {
  const root = mkdtempSync(join(tmpdir(), 'started-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, 'Dockerfile'), `FROM scratch\n${dockerfile}\n`);
  return (await readDockerfile(new Checkout(root), 'Dockerfile', { wanted: [], builds: [] })).programs;
}
