import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UNTIMED } from './executable/untimed.ts';
import { HERE, type Platform } from './step.ts';

/** An operator. */
const MAIN = 'package main\n\nimport _ "sigs.k8s.io/controller-runtime"\n\nfunc main() {}\n';
const GO_MOD = 'module example.com/operator\n\ngo 1.26\n\nrequire sigs.k8s.io/controller-runtime v0.24.1\n';

/** A cluster that nobody serves. */
const KUBECONFIG = {
  ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'none' },
  clusters: [{ name: 'none', cluster: { server: 'https://127.0.0.1:1' } }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  users: [{ name: 'none', user: { token: 'none' } }],
};

/** What people wait for. */
const COMMANDS = [
  ['status'],
  ['status', '--kubeconfig', 'kubeconfig'],
  ['doctor', '--kubeconfig', 'kubeconfig'],
  ['up', '--kubeconfig', 'kubeconfig'],
  ['down', '--kubeconfig', 'kubeconfig'],
  ['reviews', 'list'],
  ['up', '--help'],
  ['config'],
];

/** How a program of the platform is run on this machine; undefined if it cannot be. */
export function runner(platform: Platform): string[] | undefined {
  if (platform === HERE) return [];
  const [os, arch] = platform.split('-');
  if (os !== 'linux' || process.platform !== 'linux') return undefined;
  const [machine, debian] = arch === 'arm64' ? ['aarch64', 'arm64'] : ['x86_64', 'amd64'];
  const [qemu, libraries] = [`/usr/bin/qemu-${machine}-static`, `/usr/${machine}-linux-gnu`];
  if (![qemu, libraries].every((path) => existsSync(path)))
    throw new Error(
      `the executable for ${platform} needs QEMU here: apt-get install qemu-user-static libc6-${debian}-cross libstdc++6-${debian}-cross`,
    );
  return [qemu, '-L', libraries];
}

/** Otherwise, the hashes of strings, which the result contains, are others each time. */
const SAME = ['--random-seed=1', ...UNTIMED];

/**
 * Makes this Node compile the program while it runs commands, and keeps the result in a directory, which is returned. V8 accepts only what the
 * same build of it has made.
 */
export function compile(node: string[], work: string, name: string): string {
  const caches = join(work, name);
  mkdirSync(caches);
  const [home, checkout] = [join(work, 'home'), join(work, 'checkout')];
  for (const directory of [home, checkout]) mkdirSync(directory, { recursive: true });
  const files = { kubeconfig: JSON.stringify(KUBECONFIG), 'go.mod': GO_MOD, 'main.go': MAIN };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(checkout, file), text);
  const train = [...node, ...SAME, join(work, 'train.cjs'), join(work, 'program'), caches];
  for (const command of [...COMMANDS, []]) {
    const [program, ...words] = [...train, ...command];
    const { status, stderr, error } = spawnSync(program!, words, {
      cwd: checkout,
      encoding: 'utf8',
      // Of a machine without anything, so that it is the same everywhere.
      env: { HOME: home, PATH: '/nonexistent' },
    });
    // Most fail, as they should.
    if (status === null || /This is a bug|at .*train\.cjs/.test(stderr)) throw error ?? new Error(stderr);
  }
  return caches;
}
