import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runBin } from './run-bin.ts';

describe('wrong usage ends with 2 and says what to do', () => {
  it.each([
    ['an unknown flag', ['up', '--prot', '1'], /unknown option '--prot'/i, /--port/],
    [
      '--yes where nothing is asked',
      ['down', '--yes'],
      /unknown option '--yes'/i,
      /--yes: devloop down asks nothing/,
    ],
    ['an unknown command', ['donw'], /unknown command 'donw'/i, /down/],
    ['a network that is none', ['up', '--allow-from', '10.0.0.0/33'], /10\.0\.0\.0\/33/, /up --help/],
    ['a port of 0', ['up', '--port', '0'], /1 to 65535/, /up --help/],
    ['a port above 65535', ['up', '--port', '65536'], /1 to 65535/, /up --help/],
    ['a port that is no number', ['up', '--port', '80x'], /1 to 65535/, /up --help/],
    ['an address that is no IP', ['up', '--address', 'laptop.local'], /IP address/, /up --help/],
    ['a Service with two slashes', ['status', '--service', 'a/b/c'], /namespace\/name/, /status --help/],
    ['a Deployment in capitals', ['down', '--deployment', 'Shop'], /namespace\/name/, /down --help/],
    ['a namespace with a dot', ['certs', '-n', 'shop.system'], /namespace/, /certs --help/],
    ['quiet and verbose at once', ['status', '-q', '-v'], /cannot be used with/, /status --help/],
    ['a command without --', ['up', 'make', 'run'], /too many arguments/i, /up --help/],
    ['a command that is not for up', ['down', '--', 'make'], /only `up`/i, /up -- make\n.*test -- make/],
    [
      'run, which could mean two things',
      ['run', '--', 'go', 'test', './a b'],
      /no command `run`/,
      /up -- go test '.\/a b'\n.*test -- go test '.\/a b'/,
    ],
    ['a Deployment to pause without its namespace', ['up', '--also-pause', 'hub'], /NAMESPACE/, /up --help/],
    [
      'a Deployment to pause while the manager runs',
      ['doctor', '--pause', 'none', '--also-pause', 'shop/hub'],
      /cannot be combined/,
      /doctor --also-pause shop\/hub/,
    ],
    ['an unknown act on contexts', ['context', 'use'], /forget/, /context --help/],
    ['nothing after --', ['up', '--'], /must be followed by a command/, /up --help/],
    [
      'a command and --no-controller',
      ['up', '--no-controller', '--', 'make'],
      /cannot be combined/,
      /up --no-controller/,
    ],
    [
      'a cluster of the user and none',
      ['crashtest', '--embedded', '--context', 'x', '--reset', 'true', '--', 'true'],
      /cannot be combined/,
      /crashtest --embedded -- COMMAND/,
    ],
    [
      'a debugger and a command',
      ['up', '--debug', '--', 'make'],
      /--debug and .* cannot be combined/,
      /guide\.md/,
    ],
    [
      'a debugger without a controller',
      ['up', '--debug=2346', '--no-controller'],
      /cannot be combined/,
      /guide/,
    ],
    ['--debug-ignore alone', ['up', '--debug-ignore'], /needs --debug/, /up --debug --debug-ignore/],
    ['a debugger port of letters', ['up', '--debug=x'], /1 to 65535/, /up --help/],
    ['no editor', ['init'], /vscode or goland/, /init --ide vscode\n.*init --ide goland/],
    ['an unknown editor', ['init', '--ide', 'emacs'], /vscode, goland/, /init --help/],
    [
      'several Deployments and a command for one',
      ['up', '--deployment', 'a', '--deployment', 'b', '--', 'make'],
      /cannot be combined/,
      /its own terminal/,
    ],
    [
      'several Deployments for down',
      ['down', '--deployment', 'a', '--deployment', 'b'],
      /one --deployment/,
      /devloop down/,
    ],
    ['a misspelt route', ['up', '--route', 'dircet'], /'dircet'.*auto, direct/, /Did you mean direct\?/],
    ['a route of a host alone', ['up', '--route', 'dev@bastion'], /ssh:/, /Did you mean ssh:dev@bastion\?/],
    ['a misspelt verdict', ['reviews', '--verdict', 'alowed'], /'alowed'/, /next: Did you mean allowed\?/],
    [
      'a part of verdicts',
      ['reviews', '--verdict', 'answered'],
      /'answered'/,
      /one of unanswered, answered-by/,
    ],
    [
      'waiting reviews to follow',
      ['reviews', '-f', '--verdict', 'waiting'],
      /--follow/,
      /reviews --verdict waiting/,
    ],
    ['a misspelt editor', ['init', '--ide', 'vscod'], /vscode, goland/, /Did you mean vscode\?/],
    ['a misspelt shell', ['completion', 'fsh'], /bash, zsh, fish/, /Did you mean one of zsh, fish\?/],
    ['a misspelt action', ['reviews', 'verfy'], /Unknown action `verfy`/, /Did you mean verify\?/],
    ['a value of two lines', ['up', '--pause', 'a\nb'], /'a\n.*b' is invalid/, /up --help/],
    ['flags alone', ['-n', 'shop', '--watch'], /needs a command/, /devloop --help/],
    ['help for what is no command', ['help', 'donw'], /unknown command 'donw'/i, /down/],
    ['no set to verify', ['reviews', 'verify'], /needs the name/, /reviews save/],
    ['a set named like a path', ['reviews', 'save', 'a/b'], /`a\/b` cannot be/, /reviews save create-web/],
    [
      'an API server where no manager is started',
      ['reviews', 'replay', '--api-server', 'a b'],
      /--api-server works only with `verify`/,
      /reviews verify NAME --api-server 'a b'/,
    ],
    ['no set to save', ['reviews', 'save'], /needs the name/, /reviews save/],
    ['no review to show', ['reviews', 'show'], /needs an id/, /reviews list/],
    [
      'an unknown shell',
      ['completion', 'tcsh'],
      /'tcsh' is invalid\. .*bash, zsh, fish/,
      /completion --help/,
    ],
  ])('%s', (_, args, message, hint) => {
    const { code, stdout, stderr } = runBin(args);
    expect(code, stderr).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(hint);
  });

  it('is an event where JSON is asked for', () => {
    const { code, stdout } = runBin(['up', '--json', '--port', 'x']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'error', code: 'usage.invalid', exitCode: 2 });
  });

  it('does not take --json from the controller’s command', () => {
    expect(runBin(['up', '--port', 'x', '--', 'make', '--json']).stdout).toBe('');
  });
});

describe('flags before the command', () => {
  it.each([
    ['with a value that is named like a command', ['-n', 'down', '--kubeconfig', '/nowhere', 'status']],
    ['with a value after =', ['--quiet', '--kubeconfig=/nowhere', 'down']],
    ['before `up` with a command of its own', ['--kubeconfig', '/nowhere', 'up', '--', 'make', 'help']],
  ])('are those of the command: %s', (_, args) => {
    expect(runBin(args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no kubeconfig at /nowhere'),
    });
  });

  it.each(['doctor', 'up', 'up --dry-run'])('of %s do not go with what needs no cluster', (words) => {
    const { stdout, stderr } = runBin([...words.split(' '), '--kubeconfig', '/nowhere']);
    expect(stdout + stderr).toMatch(/^ *Without a cluster: devloop up --embedded$/m);
  });

  it('ask for JSON too', () => {
    const { stdout } = runBin(['--json', 'status', '--kubeconfig', '/nowhere']);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'kubeconfig.missing' });
  });
});

describe('an expected failure ends with its exit code', () => {
  it('2 for a kubeconfig that is not there', () => {
    const { code, stderr } = runBin(['status', '--kubeconfig', '/nonexistent/config']);
    expect(code).toBe(2);
    expect(stderr).toContain('/nonexistent/config');
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('help', () => {
  it.each(['up', 'down', 'status', 'certs', 'completion'])('of %s has worked examples', (command) => {
    const { code, stdout } = runBin([command, '--help']);
    expect(code).toBe(0);
    const examples = stdout.slice(stdout.indexOf('Examples:')).match(/^ {2}(?!#).*devloop/gm) ?? [];
    expect(examples.length).toBeGreaterThanOrEqual(2);
    expect(examples.length).toBeLessThanOrEqual(5);
  });

  it.each(['', 'up', 'reviews'])('of %j fits into 80 columns, but for commands to copy', (command) => {
    const { stdout } = runBin([...(command === '' ? [] : [command]), '--help']);
    const prose = stdout
      .split('\n')
      .filter((line) => !line.startsWith('  # ') && !line.startsWith('  devloop '));
    expect(prose.filter((line) => line.length > 80)).toEqual([]);
  });

  it('names commands and exit codes, and loads no code of a session', () => {
    const { code, stdout } = runBin(['--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/ up .*\n {2}test .*\n {2}down /);
    expect(stdout).toMatch(/Exit codes[\s\S]*130/);
    // On a screen, all of it can be seen.
    expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
    for (const name of ['wait', 'completion', 'timeline']) expect(stdout).toContain(name);
    expect(runBin([]).stdout).toBe(stdout);
  });

  it.each(['up', 'certs', 'completion'])('of %s comes with `help` as well', (command) => {
    const wanted = runBin([command, '--help']);
    expect(wanted.stdout).toContain(`Usage: devloop ${command}`);
    expect(runBin(['help', command])).toEqual(wanted);
    expect(runBin(['--help', command])).toEqual(wanted);
  });

  it('comes with `help` alone', () => {
    expect(runBin(['help'])).toEqual(runBin(['--help']));
  });

  it('gives the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(runBin(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(runBin(['-V']).stdout).toBe(`${version}\n`);
  });
});
