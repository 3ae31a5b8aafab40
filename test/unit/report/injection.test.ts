import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createJsonPrinter } from '../../../src/report/json.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';
import { oneLine, safeText } from '../../../src/report/text.ts';
import { printed, everyEvent as withoutController } from './capture.ts';
import { controllerEvents } from './controller-events.ts';

const everyEvent = (text: string) => [...withoutController(text), ...controllerEvents(text)];

const ATTACKS = {
  'clears the screen': 'a\x1b[2Jb',
  'sets the title': 'a\x1b]0;owned\x07b',
  'writes the clipboard': 'a\x1b]52;c;ZXZpbA==\x1b\\b',
  'asks for an answer': 'a\x1b[6nb\x1bP$q"p\x1b\\',
  'uses eight-bit control': 'a\x9b2Jb\x9d0;t\x9c',
  'resets the terminal': 'a\x1bcb',
  'overwrites its line': 'a\rb\bc',
  'has a sequence within a sequence': 'a\x1b\x1b[2J[2Jb\x1b[\x1b]0;x\x07[2Jb',
  'never ends its sequence': 'a\x1b]0;b\x1b[3',
  'turns the direction of writing': 'a\u202eb\u2066c',
};

const ESC = '\x1b';
const COLOUR = new RegExp(`${ESC}\\[[\\d;:]*m`, 'g');

/** Everything that a terminal acts on, except line breaks and tabs. */
const ACTIVE = /[^\P{Cc}\t\n]|\p{Bidi_Control}/u;

describe.each(Object.entries(ATTACKS))('text that %s', (_, attack) => {
  it('is harmless in every event', () => {
    const { stderr, stdout } = printed(everyEvent(attack), { verbosity: 'verbose' });
    expect(stderr + stdout).not.toMatch(ACTIVE);
  });

  it('is harmless and whole in JSON', () => {
    const lines: string[] = [];
    const printer = createJsonPrinter(
      (text) => lines.push(text),
      () => new Date(0),
    );
    for (const event of everyEvent(attack)) printer.print(event);
    for (const [index, event] of everyEvent(attack).entries()) {
      expect(lines[index]!.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      expect(JSON.parse(lines[index]!)).toEqual({ v: 1, at: '1970-01-01T00:00:00.000Z', ...event });
    }
  });
});

it('leaves nothing of a control character that is alone in its text', () => {
  for (let code = 0; code <= 0x9f; code++) {
    const { stderr } = printed([notice('login.output', { line: `a${String.fromCharCode(code)}b` })]);
    expect(stderr, `character ${code}`).not.toMatch(ACTIVE);
  }
});

it('leaves nothing active of any mixture of control characters', () => {
  const unit = fc.constantFrom(
    '\x1b',
    '[',
    ']',
    'P',
    '\\',
    '\x07',
    '\x9b',
    '\x9c',
    '\x9d',
    '2',
    'J',
    'm',
    ';',
    '\r',
    'a',
  );
  fc.assert(fc.property(fc.string({ unit }), (text) => !ACTIVE.test(safeText(text))));
  fc.assert(
    fc.property(fc.string({ unit }), (text) => !ACTIVE.test(safeText(text, true).replaceAll(COLOUR, ''))),
  );
});

it('takes time in proportion to the text', () => {
  for (const start of ['\x1b]', '\x9d', '\x1b[', '\x1b[1', '\x1b ', '\x1bP']) {
    const began = performance.now();
    safeText(start.repeat(200_000));
    // This takes milliseconds; if the time grew with the square of the length, it would take minutes.
    expect(performance.now() - began).toBeLessThan(30_000);
  }
});

it('keeps the colours of the controller, and only these, where colours are shown', () => {
  const line = '\x1b[31mred\x1b[2J';
  const events = [
    { type: 'controller.output', stream: 'stdout', line } as const,
    notice('login.output', { line }),
  ];
  const { stderr } = printed(events, { env: { FORCE_COLOR: '1' } });
  expect(stderr).toContain(' \x1b[31mred\x1b[0m\n');
  expect(stderr).toContain('note          red\n');
  expect(printed(events).stderr).toBe('│ red\nnote          red\n');
});

it('lets no text pose as another event by a line break', () => {
  const { stderr, stdout } = printed(everyEvent('x\nerror: y'), { verbosity: 'verbose' });
  expect(stdout).not.toMatch(/^error: y/m);
  expect(stderr).not.toMatch(/^error: y/m);
});

it('long space is no work', () => {
  const space = ' '.repeat(1_000_000);
  expect(oneLine(`a${space}b \r\n\n ${space}c\n`)).toBe(`a${space}b c `);
  for (const text of ['', '\n', ' \n ', 'a \n\n b', '\n a\r\n', '  a  ', '\t\n\n\n'])
    expect(oneLine(text)).toBe(text.replaceAll(/\s*\n\s*/g, ' '));
});
