import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { drawRecording } from '../../../scripts/demo/recording.ts';

const COLUMNS = { wide: 80, narrow: 46 };
const NAME = 'application-operator-system/application-operator-controller-manager';

/** The rows of one of the two drawings in a recording. */
function rowsOf(svg: string, name: string): string[] {
  const [, drawing = ''] = svg.split(`<g class="${name}"`);
  return [...drawing.split('</g></g>')[0]!.matchAll(/<text[^>]*>(.*)<\/text>/g)].map(([, row = '']) =>
    row.replaceAll(/<[^>]*>/g, '').replaceAll(/&(lt|gt|amp);/g, '.'),
  );
}

it.each(Object.entries(COLUMNS))('cuts nothing off in docs/demo.svg, %s', (name, columns) => {
  const rows = rowsOf(readFileSync(join(import.meta.dirname, '../../../docs/demo.svg'), 'utf8'), name);
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter((row) => row.length > columns)).toEqual([]);
});

it('continues a long line below its text, with its colours and the mark of who prints it', () => {
  const text = `\u001b[2m up | \u001b[0mrestored      Deployment ${NAME}  \u001b[32mas it was\u001b[0m`;
  const svg = drawRecording([
    { atMs: 0, text: '$ devloop down' },
    { atMs: 10, text },
  ]);
  expect(rowsOf(svg, 'wide')).toEqual([
    '$ devloop down',
    ' up | restored      Deployment application-operator-system/application-operator-',
    ' up |               controller-manager  as it was',
  ]);
  expect(svg).toContain('controller-manager  <tspan class="green">as it was</tspan></text>');
  for (const [name, columns] of Object.entries(COLUMNS)) {
    const rows = rowsOf(svg, name);
    expect(rows.filter((row) => row.length > columns)).toEqual([]);
    expect(rows.map((row) => row.replace(/^ up \| /, '').replaceAll(' ', '')).join('')).toBe(
      `$devloopdownrestoredDeployment${NAME}asitwas`,
    );
  }
});

it('begins with as many lines as fit', () => {
  const lines = Array.from({ length: 30 }, (_, at) => ({ atMs: at * 1_000, text: `line ${at}` }));
  const svg = drawRecording(lines);
  expect(svg).toMatch(/@keyframes cover-wide \{ 0\.00% \{ transform: translateY\(468\.0px\)/);
  expect(svg).toMatch(/@keyframes cover-narrow \{ 0\.00% \{ transform: translateY\(468\.0px\)/);
});
