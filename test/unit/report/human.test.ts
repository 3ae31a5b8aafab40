import { describe, expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';
import { everyEvent, printed } from './capture.ts';

const TERMINAL = { columns: 40 };
const wait = (seconds: number, what = 'the Pod'): DevloopEvent => ({
  type: 'waiting',
  for: what,
  seconds,
  limitSeconds: 60,
});
const NOTE: DevloopEvent = notice('login.output', { line: 'so it is' });

describe('lines', () => {
  it('stand in columns', () => {
    const { stderr, stdout } = printed([
      { type: 'discovered', what: 'service', value: 'shop/hook', source: 'webhook configuration shop' },
      { type: 'discovered', what: 'main package', value: './cmd', source: 'the only one' },
      {
        type: 'change',
        action: 'update',
        object: { kind: 'Service', namespace: 'shop', name: 'hook' },
        detail: 'selector removed',
      },
      { type: 'build.done', ms: 1234 },
    ]);
    expect(stdout).toBe('');
    expect(stderr).toBe(
      [
        'service       shop/hook  (webhook configuration shop)',
        'main package  ./cmd  (the only one)',
        'updated       Service shop/hook  selector removed',
        'built         in 1.2 s',
        '',
      ].join('\n'),
    );
  });

  it('begin with the name of the Deployment where there are several', () => {
    expect(printed([NOTE], { deployment: 'shop/hook' }).stderr).toBe('[hook] note          so it is\n');
  });

  it('of what a controller would write are the answer, and go to stdout', () => {
    const write = {
      verb: 'update',
      resource: 'deployments',
      kind: 'Deployment',
      namespace: 'shop',
      name: 'web',
    };
    const [only, both] = ['checkout', 'both'] as const;
    const change = { ...write, action: 'change' as const, diff: '-  replicas: 1\n+  replicas: 2' };
    const { stdout } = printed([
      { type: 'plan.write', write: { ...change, isLater: true, waits: { for: 'object', times: 3 } } },
      { type: 'plan.done', create: 0, change: 1, delete: 0, refused: 0, notSent: 0 },
      { type: 'plan.difference', revision: 'main (1a2b3c4)', difference: { by: only, write: change } },
      {
        type: 'plan.difference',
        revision: 'main (1a2b3c4)',
        difference: { by: both, write: change, instead: change, diff: '-  a: 1\n+  a: 2' },
      },
      { type: 'plan.compared', against: 'main (1a2b3c4)', checkout: 1, revision: 0, both: 1, same: 4 },
    ]);
    const heads = stdout.split('\n').filter((line) => /^\S/.test(line));
    expect(heads).toEqual([
      expect.stringMatching(
        /^~ Deployment shop\/web {2}\(after the above\) {2}\(the controller waits here.* 3 times\)$/,
      ),
      'Plan: 0 to create, 1 to change, 0 to delete.',
      '~ Deployment shop/web  (only the checkout)',
      '~ Deployment shop/web  (differently: - main (1a2b3c4), + the checkout)',
      expect.stringContaining('1 only by the checkout'),
    ]);
    expect(stdout).toContain('      +  a: 2\n');
  });

  it('of a dry run are the answer, and go to stdout, also when it is quiet', () => {
    const plan: DevloopEvent[] = [
      {
        type: 'change',
        action: 'restore',
        object: { kind: 'Service', namespace: 'shop', name: 'hook' },
        detail: '',
        dryRun: true,
      },
      { type: 'route.planned', route: 'direct', position: 1, detail: 'an address' },
      {
        type: 'change',
        action: 'update',
        object: { kind: 'Service', namespace: 'a', name: 'b' },
        detail: 'moved',
        dryRun: true,
        route: 'direct',
      },
      { type: 'route.planned', route: 'relay', position: 2, detail: 'a Pod' },
      {
        type: 'controller.planned',
        build: ['go', 'build', '-ldflags=-s -w'],
        command: ['./manager', '-v'],
        cwd: '/src',
      },
    ];
    const stdout = [
      'would restore Service shop/hook',
      'route         direct: an address',
      'would update    Service a/b  moved',
      'else          relay: a Pod',
      "would build   go build '-ldflags=-s -w'",
      'would run     ./manager -v',
      'in            /src',
      'identity      your account',
      '',
    ].join('\n');
    expect(printed([NOTE, ...plan])).toEqual({ stdout, stderr: 'note          so it is\n' });
    expect(printed([NOTE, ...plan], { verbosity: 'quiet' })).toEqual({ stdout, stderr: '' });
  });

  it('do not count reviews that nobody held', () => {
    const released = (waiting: number) => printed([{ type: 'reviews.released', session: 's', waiting }]);
    expect(JSON.stringify(released(0))).not.toContain('0 reviews');
    expect(JSON.stringify(released(2))).toContain('2 reviews');
  });

  it('name the key that ends what waits, and the files that have waited', () => {
    expect(printed([{ type: 'reviews.held', session: 's' }]).stderr).toMatch(/\bkey h\b.*`devloop release`/s);
    expect(printed([{ type: 'files.ignored' }]).stderr).toMatch(/\bkey p\b/);
    const followed = (files: string[]) => printed([{ type: 'files.followed', files }]).stderr;
    expect(followed([])).toContain('none');
    expect(followed(['a.go', 'b.go', 'c.go', 'd.go'])).toContain('a.go, b.go, c.go and 1 more');
  });

  it('show all that the compiler says', () => {
    const { stderr } = printed([
      { type: 'build.failed', ms: 80, output: 'a.go:1:2: bad\nb.go:3:4: worse\n' },
    ]);
    expect(stderr).toBe('build failed  after 80 ms\n  a.go:1:2: bad\n  b.go:3:4: worse\n');
  });

  it('name the next step below an error', () => {
    const error: DevloopEvent = {
      type: 'error',
      code: 'x',
      message: 'No such file.',
      hint: 'devloop up',
      exitCode: 2,
    };
    expect(printed([error]).stderr).toBe('error: No such file.\n→ next: devloop up\n');
  });

  it('do not call a plan with changes an error', () => {
    const message = 'It would.';
    const changes: DevloopEvent = {
      type: 'error',
      code: 'plan.changes',
      message,
      exitCode: 8,
      summary: true,
    };
    expect(printed([changes]).stderr).toBe('');
  });

  it('count what was restored, where there was something', () => {
    const restored = (changes: number) =>
      printed([{ type: 'session.restored', session: 'a', changes, ms: 40 }]).stderr;
    expect(restored(1)).toBe('restored      1 change in 40 ms\n');
    expect(restored(0)).toBe('restored      session a had changed nothing\n');
    const ended = (endMs: number) =>
      printed([{ type: 'session.restored', session: 'a', changes: 2, ms: 12_600, endMs }]).stderr;
    expect(ended(900)).toBe('restored      2 changes in 12.6 s\n');
    expect(ended(4_000)).toContain(
      '2 changes in 12.6 s; ending what ran on this machine took another 4.0 s\n',
    );
  });

  it('mark what the controller prints', () => {
    expect(printed([{ type: 'controller.output', stream: 'stderr', line: 'hi' }]).stderr).toBe('│ hi\n');
  });
});

describe('findings', () => {
  it('go to stdout, with verdict, check and answer in columns, proof and hint below', () => {
    const { stdout, stderr } = printed([
      { type: 'finding', check: 'cluster', verdict: 'ok', answer: 'Kubernetes v1.36.3', latencyMs: 12 },
      {
        type: 'finding',
        check: 'endpoint routing',
        verdict: 'warn',
        answer: 'one\ntwo',
        proof: ['seen'],
        hint: 'devloop down\nOr: kill 7',
      },
    ]);
    expect(stderr).toBe('');
    expect(stdout).toBe(
      [
        'ok       cluster          Kubernetes v1.36.3  (12 ms)',
        'warn     endpoint routing one',
        '                          two',
        '                          seen',
        '                          → next: devloop down',
        '                            Or: kill 7',
        '',
      ].join('\n'),
    );
  });
});

describe('verbosity', () => {
  it('leaves out findings that need nobody when it is quiet', () => {
    const findings = (['ok', 'info', 'unknown'] as const).map(
      (verdict): DevloopEvent => ({ type: 'finding', check: 'x', verdict, answer: 'so' }),
    );
    const act: DevloopEvent = { type: 'finding', check: 'y', verdict: 'warn', answer: 'so', hint: 'do it' };
    const summary: DevloopEvent = { type: 'error', code: 'c', message: 'm', exitCode: 2, summary: true };
    expect(printed([...findings, act, summary], { verbosity: 'quiet' })).toEqual({
      stdout: `warn     y                so\n${' '.repeat(26)}→ next: do it\n`,
      stderr: '',
    });
    expect(printed([summary]).stderr).toBe('error: m\n');
  });

  it('shows the signal that ends a session once', () => {
    const stopping = (reason: string): string => printed([{ type: 'session.stopping', reason }]).stderr;
    expect(stopping('SIGINT')).toBe('');
    expect(stopping('it failed')).toContain('it failed');
  });

  const firstWords = (verbosity: 'quiet' | 'normal' | 'verbose'): number =>
    printed(everyEvent('x'), { verbosity }).stderr.trim().split('\n').length;

  it('quiet shows what went wrong, that it is ready, and that it is over', () => {
    const { stderr, stdout } = printed(everyEvent('x'), { verbosity: 'quiet' });
    expect(stderr.match(/^\S+/gm)).toEqual([
      'warning:',
      '→',
      'tested',
      '→',
      'build',
      'ready',
      'held',
      'released',
      'restored',
      'overwritten',
      'deleted',
      'error:',
      '→',
    ]);
    expect(stdout).toContain('live');
  });

  it('each level shows more', () => {
    expect(firstWords('quiet')).toBeLessThan(firstWords('normal'));
    expect(firstWords('normal')).toBeLessThan(firstWords('verbose'));
  });
});

describe('waiting', () => {
  it('is one line of a terminal, cut to its width and cleared before the next line', () => {
    const { stderr } = printed([wait(1), wait(2, 'p'.repeat(99)), NOTE], {
      terminal: TERMINAL,
      env: { NO_COLOR: '1' },
    });
    const [first, second, after] = stderr.split('\r\x1b[J');
    expect(first).toBe('waiting for the Pod (1 s, at most 60 s)');
    expect(second).toHaveLength(39);
    expect(after).toBe('note          so it is\n');
  });

  it('leaves no line behind on close', () => {
    expect(printed([wait(1)], { terminal: TERMINAL }).stderr.endsWith('\r\x1b[J')).toBe(true);
  });

  it('is a line every five seconds elsewhere, and one at once for another wait', () => {
    const { stderr } = printed([
      ...[0, 1, 4, 5, 6, 10].map((s) => wait(s)),
      wait(11, 'more'),
      wait(1, 'more'),
    ]);
    expect(stderr.match(/\((\d+) s/g)).toEqual(['(0 s', '(5 s', '(10 s', '(11 s', '(1 s']);
  });
});

describe('colours', () => {
  const coloured = (env: Record<string, string>, terminal?: { columns: number }): boolean =>
    printed([notice('error.further', { cause: 'm' })], {
      env,
      ...(terminal && { terminal }),
    }).stderr.includes('\x1b[');

  it.each([
    [{}, TERMINAL, true],
    [{}, undefined, false],
    [{ NO_COLOR: '1' }, TERMINAL, false],
    [{ NO_COLOR: '' }, TERMINAL, true],
    [{ TERM: 'dumb' }, TERMINAL, false],
    [{ FORCE_COLOR: '1' }, undefined, true],
    [{ FORCE_COLOR: '0' }, TERMINAL, false],
  ])('%j on terminal %j: %s', (env, terminal, expected) => {
    expect(coloured(env as Record<string, string>, terminal)).toBe(expected);
  });
});

describe('status', () => {
  it('goes to stdout, in blocks', () => {
    const status = everyEvent('x').filter(({ type }) => type === 'status');
    const { stdout, stderr } = printed(status);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^x x\n {2}state {4}live\n {2}health {3}x\n/);
  });

  it('says so when there is nothing', () => {
    const others = [{ kind: 'Service', namespace: 'shop', name: 'hook' }];
    const nothing = (namespaces?: string[], names?: string[], incomplete?: true): string =>
      printed([
        {
          ...{ type: 'status', sessions: [] },
          searched: {
            context: 'dev',
            ...(namespaces && { namespaces }),
            ...(names && { names, others }),
            ...(incomplete && { incomplete }),
          },
        },
      ]).stdout;
    expect(nothing()).toBe('No operator is taken over in any namespace (context dev).\n');
    expect(nothing(['shop'])).toBe('No operator is taken over in namespace shop (context dev).\n');
    expect(nothing(undefined, ['hook'])).toMatch(
      /hook in any namespace .*\. Other sessions hold Service shop\/hook\./,
    );
    expect(nothing(['shop'], undefined, true)).toMatch(/in namespace shop .*your account is allowed/);
  });
});

describe('on a terminal, a long line', () => {
  const words = Array.from({ length: 12 }, (_, at) => `word${at}`).join(' ');
  const lines = (event: DevloopEvent, columns = 60): string[] => {
    const { stdout, stderr } = printed([event], { terminal: { columns }, env: { NO_COLOR: '1' } });
    return `${stdout}${stderr}`.replaceAll('\r\x1b[J', '').trimEnd().split('\n');
  };

  it('continues below its text', () => {
    const [first, ...more] = lines(notice('login.output', { line: words }));
    expect(first).toMatch(/^note {10}word0 .{1,45}$/);
    expect(more).toHaveLength(1);
    expect(more[0]).toMatch(/^ {14}word\d/);
    expect(lines(notice('error.further', { cause: words }))[1]).toMatch(/^ {2}word/);
    const finding: DevloopEvent = {
      type: 'finding',
      check: 'x',
      verdict: 'ok',
      answer: words,
      proof: [words],
    };
    for (const line of lines(finding, 80)) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines(finding, 80)[1]).toMatch(/^ {26}word/);
  });

  it('goes on with a word that fits into no line, and breaks behind it', () => {
    const name = 'n'.repeat(60);
    expect(lines(notice('login.output', { line: `Service ${name} is redirected` }))).toEqual([
      `note          Service ${name}`,
      `${' '.repeat(14)}is redirected`,
    ]);
    expect(lines({ type: 'discovered', what: 'service', value: name, source: 'a path' })).toEqual([
      `service       ${name}`,
      `${' '.repeat(14)}(a path)`,
    ]);
  });

  it('stays one line where it is a command', () => {
    const hint = `devloop down ${words}`;
    expect(lines(notice('error.further', { cause: 'm', next: hint }))).toEqual([
      'warning: m',
      `→ next: ${hint}`,
    ]);
    expect(lines(notice('login.output', { line: words }), 30)).toHaveLength(1);
  });

  it('of what to do next is broken at words, but not within a command', () => {
    const rows = (next: string): string[] => lines(notice('error.further', { cause: 'm', next })).slice(1);
    const [first, ...more] = rows(`Write less, ${words}.`);
    expect(first).toMatch(/^→ next: Write less, word0 .*word\d,?$/);
    for (const row of [first!, ...more]) expect(row.length).toBeLessThanOrEqual(60);
    expect(more.join()).toMatch(/^ {2}word/);
    const command = 'kubectl get pods -n shop -l app=a -o wide';
    // Alone, after a colon, in a sentence, and in a message.
    expect(rows(`See more of it there:\n${command} --watch --context abc`)).toEqual([
      '→ next: See more of it there:',
      `  ${command} --watch --context abc`,
    ]);
    expect(rows(`If it is of no more use to you: ${command}`)).toEqual([
      '→ next: If it is of no more use to you:',
      `  ${command}`,
    ]);
    expect(rows(`Read what \`${command}\` prints, and see whether it is there.`)).toEqual([
      '→ next: Read what',
      `  \`${command}\` prints, and`,
      '  see whether it is there.',
    ]);
    expect(lines(notice('error.further', { cause: `something that \`${command}\` shows` }))).toEqual([
      'warning: something that',
      `  \`${command}\` shows`,
    ]);
    const finding = { type: 'finding', check: 'x', verdict: 'warn', answer: 'y' } as const;
    const [, hint, below] = lines({ ...finding, hint: `Ask somebody for it, ${words}.` }, 80);
    expect(hint).toMatch(/^ {26}→ next: Ask somebody/);
    expect(below).toMatch(/^ {28}word/);
  });

  const output = (line: string): DevloopEvent => ({ type: 'controller.output', stream: 'stdout', line });

  it('of the log is broken at words behind its gutter, and cut where it has none', () => {
    const rows = lines(output(`ts\tINFO\t${words}`));
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/^│ ts {2}INFO {2}word0 .*word\d$/);
    expect(rows[1]).toMatch(/^│ {3}word\d/);
    const cut = lines(output('x'.repeat(150)));
    expect(cut.map((row) => row.length)).toEqual([60, 60, 40]);
    for (const row of cut) expect(row).toMatch(/^│ /);
  });

  it('of the log names its Deployment in each row', () => {
    const options = { terminal: { columns: 60 }, env: { NO_COLOR: '1' }, deployment: 'shop/hook' };
    const rows = printed([output(words)], options)
      .stderr.trimEnd()
      .split('\n');
    expect(rows.length).toBeGreaterThan(1);
    for (const row of rows) expect(row).toMatch(/^\[hook\] │ .{1,51}$/);
  });

  it('of the log is one line where there is no terminal', () => {
    const { stderr } = printed([output(`ts\tINFO\t${words.repeat(9)}`)]);
    expect(stderr).toBe(`│ ts\tINFO\t${words.repeat(9)}\n`);
  });

  it('of the log is dimmed in a terminal, unless it has colours of its own', () => {
    const shown = (line: string): string =>
      printed([output(line)], { terminal: { columns: 60 }, env: { FORCE_COLOR: '1' } }).stderr;
    expect(shown('plain')).toBe('\x1b[2m│ plain\x1b[22m\n');
    expect(shown('\x1b[31mred')).toBe('\x1b[2m│\x1b[22m \x1b[31mred\x1b[0m\n');
  });
});
