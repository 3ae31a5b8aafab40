import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../../../src/machine/find-program.ts';
import { eventually } from '../../support/eventually.ts';
import { openTerminal } from '../../support/terminal.ts';
import { BIN, runBin } from './run-bin.ts';

let home: string;
let env: Record<string, string>;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'devloop-completion-'));
  for (const directory of ['bin', '.ssh', 'zsh']) mkdirSync(join(home, directory));
  symlinkSync(BIN, join(home, 'bin/devloop'));
  const ran = `touch\${IFS}${join(home, 'RAN')}`;
  const contexts = ['kind-a', 'arn:aws:eks:west:1:cluster/x', 'admin@prod', `$(${ran})`, `\`${ran}\``];
  writeFileSync(
    join(home, 'config'),
    JSON.stringify({
      'current-context': 'kind-a',
      clusters: [{ name: 'a', cluster: { server: 'http://127.0.0.1:1' } }],
      contexts: contexts.map((name) => ({ name, context: { cluster: 'a', user: 'a' } })),
      users: [{ name: 'a', user: { token: 'x' } }],
    }),
  );
  writeFileSync(
    join(home, '.ssh/config'),
    `Host bastion *.lan !x $(${ran}) \`${ran}\` $HOME ~\n  HostName 10.0.0.1\n\thost = jump\nHost *\n`,
  );
  const own = join(home, 'bin/own-command');
  writeFileSync(own, '#!/bin/sh\n');
  chmodSync(own, 0o755);
  const PATH = [join(home, 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter);
  env = { HOME: home, PATH, KUBECONFIG: join(home, 'config'), ZDOTDIR: join(home, 'zsh'), TERM: 'xterm' };
  // What is entered at the prompt ends here, while the script calls the program.
  const shown = `devloop() { printf '<%s>' "$@"; echo; }; PS1='$ '`;
  writeFileSync(join(home, '.bashrc'), `source <(devloop completion bash); ${shown}\n`);
  writeFileSync(
    join(home, 'zsh/.zshrc'),
    `autoload -Uz compinit; compinit -D; source <(command devloop completion zsh); ${shown}\n`,
  );
});
afterAll(() => rmSync(home, { recursive: true }));

const missing = (program: string): boolean => 'why' in findProgram(program, process.env.PATH);

/** What one Tab at the end of the line makes of each line. On a busy machine, a first Tab can come to nothing. */
async function completed(shell: string, lines: [typed: string, entered: string][]): Promise<void> {
  await using terminal = openTerminal(shell, { cwd: home, env });
  await eventually(async () => expect(terminal.shown()).toMatch(/\$ /));
  for (const [typed, entered] of lines)
    await eventually(async () => {
      const from = terminal.shown().length;
      terminal.type(`${typed}\t\n`);
      await eventually(async () => expect(terminal.shown().slice(from)).toMatch(/<.*>\s/));
      expect(terminal.shown().slice(from)).toContain(entered);
    });
}

const LINES: [string, string][] = [
  ['devloop sta', '<status>'],
  ['devloop up --ta', '<up><--take-over>'],
  ['devloop up --context ki', '<up><--context><kind-a>'],
  ['devloop up --context arn', '<up><--context><arn:aws:eks:west:1:cluster/x>'],
  ['devloop up --context arn:aws:e', '<up><--context><arn:aws:eks:west:1:cluster/x>'],
  ['devloop up --context admin@p', '<up><--context><admin@prod>'],
  ['devloop up --context=arn:aws:e', '<up><--context=arn:aws:eks:west:1:cluster/x>'],
  ['devloop up --on-timeout=d', '<up><--on-timeout=deny>'],
  ['devloop up --route rel', '<up><--route><relay>'],
  ['devloop up --route ssh:ju', '<up><--route><ssh:jump>'],
  ['devloop up --kubeconfig conf', '<up><--kubeconfig><config>'],
  ['devloop up --kubeconfig=conf', '<up><--kubeconfig=config>'],
  ['devloop reviews --verdict an', '<reviews><--verdict><answered-by-devloop>'],
  ['devloop reviews ver', '<reviews><verify>'],
  ['devloop up -n x -- own-comm', '<up><-n><x><--><own-command>'],
  ['devloop up -- own-command conf', '<up><--><own-command><config>'],
  // No context that a shell would evaluate is offered.
  ['devloop up --context $', '<up><--context><$>'],
];

describe('at a prompt', () => {
  it.skipIf(missing('script'))(
    'bash completes commands, flags, their values, and a command after --',
    async () => {
      await completed('bash -i', LINES);
      expect(existsSync(join(home, 'RAN'))).toBe(false);
    },
  );

  it.skipIf(missing('script') || missing('zsh'))('zsh does, too', async () => {
    await completed('zsh -i', LINES);
    expect(existsSync(join(home, 'RAN'))).toBe(false);
  });

  it.skipIf(missing('fish'))('fish does, too, and shows what each is', async () => {
    const script = join(home, 'devloop.fish');
    writeFileSync(script, runBin(['completion', 'fish']).stdout);
    const complete = (line: string): string[] => {
      const code = 'source $argv[1]; complete -C "$argv[2]"';
      const { stdout } = spawnSync('fish', ['--no-config', '-c', code, script, line], {
        ...{ cwd: home, env, encoding: 'utf8' },
      });
      return stdout.trimEnd().split('\n');
    };
    const expected: [string, string[]][] = [
      ['devloop sta', ['status\tshow who has taken over what, since when, by which route']],
      ['devloop up --context ', ['admin@prod', 'arn:aws:eks:west:1:cluster/x', 'kind-a']],
      ['devloop up --context=ki', ['--context=kind-a']],
      ['devloop up --kubeconfig=conf', ['--kubeconfig=config']],
      ['devloop up --kubeconfig conf', ['config']],
      ['devloop up --route ssh:', ['ssh:', 'ssh:bastion', 'ssh:jump']],
      ['devloop up -- own-comm', [expect.stringMatching(/^own-command(?:\tcommand)?$/)]],
    ];
    for (const [line, words] of expected) await eventually(async () => expect(complete(line)).toEqual(words));
    expect(existsSync(join(home, 'RAN'))).toBe(false);
  });
});

it('prints no error while somebody types, and nothing if there is nothing', () => {
  for (const words of [
    ['up', '--context', ''],
    ['status', '-n', ''],
    ['nothing', ''],
    ['reviews', 'show', ''],
  ])
    expect(runBin(['__complete', '--', ...words])).toEqual({ code: 0, stdout: ':4\n', stderr: '' });
});
