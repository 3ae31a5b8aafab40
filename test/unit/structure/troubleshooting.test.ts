import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CATALOGUE } from '../../../src/errors.ts';

const ROOT = join(import.meta.dirname, '../../..');
const page = readFileSync(join(ROOT, 'docs/troubleshooting.md'), 'utf8');
const sources = globSync('src/**/*.ts', { cwd: ROOT })
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n')
  .replace(/^\s*(\/\/|\/?\*).*$/gm, '');

const codes = headings().filter(isCode);

it('has a section for each error code, and for no other', () => {
  expect([...new Set(codes)].sort()).toEqual(Object.keys(CATALOGUE).sort());
});

it('quotes messages that devloop prints', () => {
  const quoted = [...headings().filter((text) => !isCode(text)), ...firstCells(), ...listItems()];
  expect(quoted.length).toBeGreaterThan(80);
  expect(quoted.filter((text) => !patternOf(text).test(sources))).toEqual([]);
});

/** `…` stands for whatever the code puts there, on one line. */
function patternOf(quoted: string): RegExp {
  const parts = quoted.split('…').map((part) => part.replaceAll(/[\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(parts.join('[^\\n]{0,90}?'));
}

function isCode(text: string): boolean {
  return /^[a-z]+\.[a-z-]+$/.test(text) || text in CATALOGUE;
}

function headings(): string[] {
  return page.split('\n').flatMap((line) => (line.startsWith('### ') ? quotesIn(line) : []));
}

/** The tables of devloop's own messages; other tables quote other programs. */
function firstCells(): string[] {
  const tables = page.split('\n\n').filter((block) => block.startsWith('| devloop says |'));
  return tables.flatMap((table) =>
    table
      .split('\n')
      .slice(2)
      .flatMap((row) => quotesIn(row.split(' | ')[0]!)),
  );
}

/** A list item begins with the message that it explains. */
function listItems(): string[] {
  return [...page.matchAll(/^- `([^`]+)`/gm)].map(([, text]) => text!);
}

function quotesIn(line: string): string[] {
  return [...line.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);
}
