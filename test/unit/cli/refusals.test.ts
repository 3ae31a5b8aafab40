/** What devloop refuses before it sends a request: one error, its documented exit code, and no stack. A dry run of `up` refuses the same. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../src/errors.ts';
import { A_STACK, type Refusal, refusalEvents } from '../../support/refusal.ts';
import { BIN } from './run-bin.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'devloop-refusals-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function run(args: string[]): ReturnType<typeof spawnSync> & { stdout: string; stderr: string } {
  const env = { PATH: process.env.PATH, HOME: directory };
  return spawnSync(process.execPath, [BIN, ...withJson(args)], { cwd: directory, env, encoding: 'utf8' });
}

function refuses(args: string[], refusal: Refusal): string {
  const { status, stdout, stderr } = run(args);
  const events = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  expect(events, stderr).toMatchObject(refusalEvents(refusal));
  expect(status).toBe(CATALOGUE[refusal.code].exit);
  expect(`${stdout}\n${stderr}`).not.toMatch(A_STACK);
  if (args[0] === 'up') {
    const dry = run(['up', '--dry-run', ...args.slice(1)]);
    expect(dry.status).toBe(status);
    expect(dry.stdout.trim()).toContain(JSON.stringify(events[0].message));
  }
  return events[0].message;
}

function withJson([command = '', ...rest]: string[]): string[] {
  return [command, '--json', ...rest];
}

function write(name: string, content: string): string {
  writeFileSync(join(directory, name), content);
  return join(directory, name);
}

describe('a kubeconfig', () => {
  it('that is not there', () => {
    const file = join(directory, 'nowhere');
    refuses(['up', '--kubeconfig', file], {
      code: 'kubeconfig.missing',
      message: file,
      hint: '--kubeconfig',
    });
  });

  it('that is no YAML', () => {
    const file = write('broken', 'clusters: [\n  - x: {');
    const hint = `kubectl --kubeconfig ${file} config view`;
    refuses(['up', '--kubeconfig', file], { code: 'kubeconfig.invalid', message: file, hint });
  });

  it('without a current context', () => {
    const context = { name: 'shop', context: { cluster: 'shop', user: 'dev' } };
    const file = write('none-chosen', JSON.stringify({ contexts: [context] }));
    const message = /no current context.*shop/;
    refuses(['down', '--kubeconfig', file], { code: 'kubeconfig.invalid', message, hint: '--context' });
  });

  it('without any context', () => {
    const file = write('empty', 'apiVersion: v1\nkind: Config\n');
    const message = /no contexts/;
    const hint = 'Name one with --kubeconfig';
    refuses(['down', '--kubeconfig', file], { code: 'kubeconfig.invalid', message, hint });
  });

  it('without the context that was asked for', () => {
    const context = { name: 'shop', context: { cluster: 'shop', user: 'dev' } };
    const file = write('config', JSON.stringify({ 'current-context': 'shop', contexts: [context] }));
    const message = /Context nope is not in the kubeconfig .*shop/;
    const args = ['up', '--kubeconfig', file, '--context', 'nope'];
    refuses(args, {
      code: 'context.unknown',
      message,
      hint: `kubectl config --kubeconfig ${file} get-contexts`,
    });
    const typo = ['status', '-n', 'x', '--kubeconfig', file, '--context', 'shp'];
    const hint = `devloop status -n x --kubeconfig ${file} --context shop`;
    refuses(typo, { code: 'context.unknown', message: 'Context shp', hint });
  });
});

it('a devloop.yaml, with all its problems at once', () => {
  write('devloop.yaml', 'contxt: a\nport: eighty\ncontroller:\n  runn: x\n  build: 3\nservice: {a: b}\n');
  const message = refuses(['up'], {
    code: 'config.invalid',
    message: 'devloop.yaml has 5 problems',
    hint: join(import.meta.dirname, '../../../docs/guide.md'),
  });
  const places = [...message.matchAll(/^ {2}(\d+:\d+) {2}/gm)].map((match) => match[1]);
  expect(places).toEqual(['1:1', '2:7', '4:3', '5:10', '6:10']);
});

it('a current directory that was deleted', () => {
  const script = `mkdir ${directory}/gone && cd ${directory}/gone && rmdir ${directory}/gone && exec "$0" "$@"`;
  const { status, stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', script, process.execPath, BIN, 'down', '--json'],
    {
      env: { PATH: process.env.PATH, HOME: directory },
      encoding: 'utf8',
    },
  );
  expect(stdout, stderr).toContain('"usage.invalid"');
  expect(status).toBe(CATALOGUE['usage.invalid'].exit);
});

it('a session to hold or release where none runs', () => {
  const none = { code: 'session.not-found', hint: 'devloop up' } as const;
  refuses(['hold'], { ...none, message: 'No session' });
  refuses(['release', '--session', 'x'], { ...none, message: 'Session x' });
});

it.each([
  [['hold', 'x'], /hold/, 'devloop hold --help'],
  [['up', '--on-timeout', 'ignore'], /fail, allow, deny/, 'devloop up --help'],
  [['up', '--controller-log', 'none'], /all, warnings, off/, 'devloop up --help'],
  [['up', '--port', '99999'], /99999.*1 to 65535/, 'devloop up --help'],
  [['up', '--adress', '1.2.3.4'], /--adress/, '--address'],
  [['up', '--address', 'localhost'], /IP address/, 'devloop up --help'],
  [['up', '-n', 'No_Such'], /namespace/, 'devloop up --help'],
  [['upp'], /'upp'/, 'up'],
  [['up', 'extra'], /extra/, 'devloop up --help'],
  [['up', '--quiet', '--verbose'], /cannot be used with/, 'devloop up --help'],
  [['down', '--', 'x'], /Only `up`/, 'devloop up --'],
  [['up', '--no-controller', '--', 'x'], /--no-controller/, '--no-controller'],
  [['up', '--'], /`--`.*command/, 'devloop up --help'],
])('%j', (args, message, hint) => {
  refuses(args, { code: 'usage.invalid', message, hint });
});
