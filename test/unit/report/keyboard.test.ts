import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { CTRL_C, openTerminal, type Terminal } from '../../support/terminal.ts';

const ATTENDS = join(import.meta.dirname, '../../fixtures/report/attends.mjs');
const CTRL_Z = '\x1a';
const LINE = '● serving';

function open(before = '', after = 'stty -a'): Terminal {
  const line = `stty cols 60; ${before} ${process.execPath} ${ATTENDS}; ${after}`;
  return openTerminal(line, { cwd: '/', env: { PS1: '' } });
}

const shows = (terminal: Terminal, text: string): Promise<void> =>
  eventually(async () => expect(terminal.shown()).toContain(text), 20_000);

/** The terminal is as it was before, according to `stty`: it collects lines, echoes, and turns Ctrl-C into a signal. */
function expectGivenBack(terminal: Terminal): void {
  const settings = terminal.shown().slice(terminal.shown().lastIndexOf('speed '));
  for (const setting of ['isig', 'icanon', 'echo'])
    expect(settings).toMatch(new RegExp(`(?<![-\\w])${setting}\\b`));
}

it('keeps a line below what is printed, hands over keys but no pasted text, and gives the terminal back', async () => {
  await using terminal = open();
  await shows(terminal, LINE);
  terminal.type('h');
  await shows(terminal, 'key h');
  terminal.type('?');
  await shows(terminal, 'Ctrl-C');
  terminal.type('kubectl get pods -q');
  terminal.type('\x1b[A');
  // It gets narrower, and shows less.
  await eventually(async () => {
    terminal.type('n');
    expect(terminal.shown()).toContain('● serving  ? keys\r');
  }, 20_000);
  terminal.type('q');
  await terminal.closed;
  const shown = terminal.shown();
  const keys = [...shown.matchAll(/key (\S)/g)].map(([, key]) => key);
  expect(new Set(keys)).toEqual(new Set(['h', 'n']));
  expect(shown).toContain('\r\x1b[Jnote          key n\r\n● serving');
  expect(shown).toContain('left by q');
  // The line is gone at the end.
  expect(shown.slice(shown.lastIndexOf(LINE))).toContain('\x1b[J');
  expectGivenBack(terminal);
});

it.each([
  ['Ctrl-C', CTRL_C],
  ['an exit', 'e'],
  ['SIGTERM', 't'],
  ['a crash', 'x'],
])('gives the terminal back after %s', async (_, key) => {
  await using terminal = open();
  await shows(terminal, LINE);
  terminal.type(key);
  await terminal.closed;
  expectGivenBack(terminal);
});

it('leaves the terminal to a question, and takes it again', async () => {
  await using terminal = open();
  await shows(terminal, LINE);
  terminal.type('a');
  await shows(terminal, 'away: ');
  await shows(terminal, 'iexten');
  expectGivenBack(terminal);
  terminal.type('h');
  await shows(terminal, 'key h');
  terminal.type('q');
  await terminal.closed;
});

it('is stopped by Ctrl-Z with the terminal given back, and takes it again in the foreground', async () => {
  await using terminal = openTerminal(`bash -c 'set -m; ${process.execPath} ${ATTENDS}; stty -a; fg'`, {
    cwd: '/',
    env: {},
  });
  await shows(terminal, LINE);
  terminal.type(CTRL_Z);
  await shows(terminal, 'iexten');
  expectGivenBack(terminal);
  const after = (): string => terminal.shown().slice(terminal.shown().lastIndexOf('iexten'));
  await eventually(async () => expect(after()).toContain(LINE), 20_000);
  terminal.type('q');
  await terminal.closed;
});

it('in the background, leaves the terminal alone, and is not stopped for it', async () => {
  await using terminal = openTerminal(
    `bash -c 'set -m; ${process.execPath} ${ATTENDS} & read typed; kill %1; stty -a; echo "typed $typed"'`,
    { cwd: '/', env: {} },
  );
  await shows(terminal, 'attended');
  terminal.type('q\r');
  await terminal.closed;
  expect(terminal.shown()).toContain('typed q');
  expect(terminal.shown()).not.toContain(LINE);
  expectGivenBack(terminal);
});

it('that was stopped while it had the terminal leaves it alone when it continues in the background', async () => {
  const after = 'stty sane; kill -CONT %1; read typed; kill -KILL %1; echo "typed $typed"';
  await using terminal = openTerminal(`bash -c 'set -m; ${process.execPath} ${ATTENDS}; ${after}'`, {
    cwd: '/',
    env: {},
  });
  await shows(terminal, LINE);
  terminal.type('s');
  await shows(terminal, 'continued');
  terminal.type('q\r');
  await shows(terminal, 'typed q');
});

it('that was stopped while it had the terminal takes it again in the foreground', async () => {
  const line = `bash -c 'set -m; ${process.execPath} ${ATTENDS}; stty sane; fg'`;
  await using terminal = openTerminal(line, { cwd: '/', env: {} });
  await shows(terminal, LINE);
  terminal.type('s');
  await shows(terminal, 'continued');
  terminal.type('h');
  await shows(terminal, 'key h');
  terminal.type('q');
  await terminal.closed;
});
