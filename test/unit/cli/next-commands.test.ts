import { Option } from 'commander';
import { describe, expect, it } from 'vitest';
import {
  type ChosenCluster,
  type Typed,
  typedFlags,
  withNextCommands,
} from '../../../src/cli/next-commands.ts';
import { AGAIN } from '../../../src/errors.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';

const OPTIONS = [
  new Option('--kubeconfig <file>'),
  new Option('--context <name>'),
  new Option('-n, --namespace <name>'),
  new Option('--service <name>'),
  new Option('--route <route>'),
  new Option('--take-over'),
  new Option('--json'),
  new Option('--debug [port]'),
];

function typed(command: string, words: string[] = [], own: string[] = []): Typed {
  return { name: 'devloop', command, ...typedFlags(words, OPTIONS), own };
}

function hintAfter(command: Typed, hint: string, cluster: ChosenCluster = {}): string | undefined {
  const event = withNextCommands(notice('error.further', { cause: '', next: hint }), command, cluster);
  return event.type === 'warning' ? event.hint : undefined;
}

const PLACE = ['--context', 'kind-dev', '-n', 'shop', '--kubeconfig=/tmp/a b'];

describe('a suggested command', () => {
  it('that needs no cluster gets no flag about one, but the others', () => {
    expect(hintAfter(typed('up', [...PLACE, '--route=relay', '--debug']), 'Or: devloop up --embedded')).toBe(
      'Or: devloop up -n shop --debug --embedded',
    );
    expect(hintAfter(typed('doctor', PLACE), 'Or: devloop up --embedded')).toBe(
      'Or: devloop up -n shop --embedded',
    );
  });

  it('of devloop gets the flags that say which cluster and namespace', () => {
    expect(hintAfter(typed('up', PLACE), 'devloop down')).toBe(
      "devloop down --context kind-dev -n shop --kubeconfig '/tmp/a b'",
    );
    expect(hintAfter(typed('up', PLACE), 'Run devloop down with another account.')).toBe(
      "Run devloop down --context kind-dev -n shop --kubeconfig '/tmp/a b' with another account.",
    );
  });

  it('of `reviews` gets no flags of another action', () => {
    const hint = 'To list a saved set: devloop reviews --set NAME';
    expect(hintAfter(typed('reviews', ['export', '41', '--take-over']), hint)).toBe(hint);
    expect(hintAfter(typed('reviews', ['-n', 'shop']), hint)).toBe(
      'To list a saved set: devloop reviews -n shop --set NAME',
    );
  });

  it('keeps the flags that it has', () => {
    expect(hintAfter(typed('up', ['-n', 'shop', '--context', 'a']), 'devloop status -n other')).toBe(
      'devloop status --context a -n other',
    );
  });

  it('repeats the value of a flag that can go without one', () => {
    const again = (...words: string[]) => hintAfter(typed('up', words), `${AGAIN} --take-over`);
    expect(again('--debug=2346')).toBe('devloop up --debug 2346 --take-over');
    expect(again('--debug', '2346')).toBe('devloop up --debug 2346 --take-over');
    expect(again('--debug', '-n', 'shop')).toBe('devloop up --debug -n shop --take-over');
    expect(hintAfter(typed('up', ['--debug=2346']), 'devloop up --debug=2347')).toBe(
      'devloop up --debug=2347',
    );
  });

  it('of kubectl is for the cluster that the command used, wherever that was chosen', () => {
    const cluster = { context: 'kind-dev', kubeconfig: '/tmp/config' };
    expect(hintAfter(typed('up'), 'kubectl -n shop get services', cluster)).toBe(
      'kubectl --kubeconfig /tmp/config --context kind-dev -n shop get services',
    );
    expect(hintAfter(typed('up'), 'Check: kubectl --context x get --raw /version', cluster)).toBe(
      'Check: kubectl --kubeconfig /tmp/config --context x get --raw /version',
    );
    expect(hintAfter(typed('up'), 'kubectl config get-contexts', cluster)).toBe(
      'kubectl config --kubeconfig /tmp/config get-contexts',
    );
  });

  it('is each one of a line, whatever joins them', () => {
    const patch = `kubectl --context dev patch validatingwebhookconfiguration v -p '{"name":"kubectl get; devloop up"}'`;
    const cluster = { kubeconfig: '/tmp/a b' };
    const down = typed('down', ['--kubeconfig', '/tmp/a b']);
    const placed = patch.replace('kubectl', "kubectl --kubeconfig '/tmp/a b'");
    expect(hintAfter(down, `${patch} && ${patch} && devloop down --context dev; ${patch}`, cluster)).toBe(
      `${placed} && ${placed} && devloop down --kubeconfig '/tmp/a b' --context dev; ${placed}`,
    );
    expect(hintAfter(down, `${patch}; devloop down --context dev`, cluster)).toBe(
      `${placed}; devloop down --kubeconfig '/tmp/a b' --context dev`,
    );
    expect(hintAfter(down, `Then: echo '{"a":"it'\\''s kubectl x"}' | kubectl apply -f -`, cluster)).toBe(
      `Then: echo '{"a":"it'\\''s kubectl x"}' | kubectl --kubeconfig '/tmp/a b' apply -f -`,
    );
    expect(hintAfter(down, "Look at cert-manager's: kubectl get pods # or 'devloop up'", cluster)).toBe(
      "Look at cert-manager's: kubectl --kubeconfig '/tmp/a b' get pods # or 'devloop up'",
    );
    expect(hintAfter(down, 'devloop status shows it; devloop up restores it')).toBe(
      "devloop status --kubeconfig '/tmp/a b' shows it; devloop up --kubeconfig '/tmp/a b' restores it",
    );
  });

  it('of a plug-in of kubectl has its flags behind the name', () => {
    expect(hintAfter(typed('up'), 'kubectl cert-manager renew -n shop cert', { context: 'a b' })).toBe(
      "kubectl cert-manager renew --context 'a b' -n shop cert",
    );
  });

  it('is not what a sentence only speaks of', () => {
    const cluster = { context: 'kind-dev', kubeconfig: '/tmp/config' };
    for (const text of [
      'Do not upgrade the release while devloop up runs.',
      'kubectl is not installed.',
      'That is what kubectl get shows.',
    ])
      expect(hintAfter(typed('down', PLACE), text, cluster)).toBe(text);
  });

  it('has a value that is quoted', () => {
    expect(hintAfter(typed('up', ['-n', 'shop']), `${AGAIN} --context 'a b'`)).toBe(
      "devloop up -n shop --context 'a b'",
    );
    expect(hintAfter(typed('up', ['--context', 'a b']), `${AGAIN} --context 'a b'`)).toBeUndefined();
  });

  it('is one line, whatever was typed', () => {
    const text = `it's\ndevloop down`;
    const up = typed('up', ['--context', text], ['sh', '-c', 'a\nb']);
    const quoted = `$'it\\'s\\ndevloop down'`;
    const next = `devloop up --context ${quoted} --route relay -- sh -c $'a\\nb'`;
    expect(hintAfter(up, `${AGAIN} --route relay`)).toBe(next);
    // The quoted part is not a command, and the flag is the one that was typed.
    expect(hintAfter(typed('up', ['--context', text]), `${AGAIN} --context ${quoted}`)).toBeUndefined();
    const cluster = { kubeconfig: '/tmp/config' };
    expect(hintAfter(typed('up'), `kubectl --context ${quoted} get pods`, cluster)).toBe(
      `kubectl --kubeconfig /tmp/config --context ${quoted} get pods`,
    );
  });

  it('that is the same one again has all that was typed, apart from what it replaces', () => {
    const up = typed('up', ['--route', 'direct', '--context', 'a', '--json'], ['go', 'run', './my cmd']);
    expect(hintAfter(up, `${AGAIN} --route relay`)).toBe(
      "devloop up --context a --route relay -- go run './my cmd'",
    );
    expect(hintAfter(up, 'Or: devloop up --take-over   # ask first')).toBe(
      "Or: devloop up --route direct --context a --take-over -- go run './my cmd'   # ask first",
    );
    expect(hintAfter(up, 'devloop up -- COMMAND')).toBe('devloop up --route direct --context a -- COMMAND');
  });

  it('that was just typed is left out', () => {
    const down = typed('down', ['--take-over', '-n', 'shop']);
    expect(hintAfter(down, 'devloop down --take-over')).toBeUndefined();
    expect(hintAfter(down, 'devloop down')).toBeUndefined();
    expect(hintAfter(down, 'devloop down\nkubectl get pods')).toBe('kubectl get pods');
    expect(hintAfter(down, `${AGAIN} -n shop-system`)).toBe('devloop down --take-over -n shop-system');
  });

  it('is another one where it has fewer of the values that were typed', () => {
    const up = typed('up', ['--service', 'a', '--json', '--service', 'b']);
    expect(hintAfter(up, `${AGAIN} --service a\n${AGAIN} --service b`)).toBe(
      'devloop up --service a\ndevloop up --service b',
    );
    expect(hintAfter(up, `${AGAIN} --service b --service a`)).toBeUndefined();
  });

  it('is one of the plugin for those who use that', () => {
    const up = { ...typed('up', ['-n', 'shop']), name: 'kubectl devloop' };
    expect(hintAfter(up, 'devloop down', { context: 'a' })).toBe('kubectl devloop down -n shop');
  });

  it('is the same in the values of a warning as in its hint', () => {
    const warning = notice('error.further', { cause: '', next: `Then: ${AGAIN} --yes` });
    const next = 'Then: devloop up -n shop --yes';
    const { hint, values } = withNextCommands(warning, typed('up', ['-n', 'shop']), {}) as typeof warning;
    expect({ hint, values }).toMatchObject({ hint: next, values: { next } });
  });

  it('that repeats a run of a crash test keeps what was typed', () => {
    const facts = { point: 'p', write: 'w', result: 'different', ms: 1 } as const;
    const round = { ...facts, repeat: `${AGAIN} --point 'crash create pods nth=1'` };
    const event = { type: 'crashtest.round', number: 1, of: 1, round } as const;
    const command = typed('crashtest', ['-n', 'shop'], ['sh', '-c', 'make a && make b']);
    expect(withNextCommands(event, command, {})).toMatchObject({
      round: {
        repeat: "devloop crashtest -n shop --point 'crash create pods nth=1' -- sh -c 'make a && make b'",
      },
    });
  });

  it('in a message stands in backticks', () => {
    const message = 'The program wrote devloop down. Run `devloop down` then.';
    const note = notice('login.output', { line: message });
    expect(withNextCommands(note, typed('up', ['-n', 'shop']), {})).toMatchObject({
      type: 'note',
      message: 'The program wrote devloop down. Run `devloop down -n shop` then.',
    });
  });

  it('about wrong flags repeats none of them', () => {
    const event = {
      type: 'error',
      code: 'usage.invalid',
      message: '',
      hint: 'devloop up --help',
      exitCode: 2,
    } as const;
    expect(withNextCommands(event, typed('up', PLACE), {})).toEqual(event);
  });

  it('in words of others is left alone', () => {
    const event = { type: 'controller.output', stream: 'stdout', line: '`devloop down`' } as const;
    expect(withNextCommands(event, typed('up', PLACE), {})).toEqual(event);
  });
});
