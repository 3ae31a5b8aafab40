import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generateDocs } from '../../../scripts/generate-docs.ts';
import { parseNotices, readNotices } from '../../../scripts/notices-page.ts';
import { parseUnions, usedTypes } from '../../../scripts/type-docs.ts';
import { parseConfig } from '../../../src/config/parse.ts';
import { NOTICES } from '../../../src/report/notices/catalogue.ts';
import { allChecks } from '../../../src/session/doctor.ts';
import { settingsOf } from '../../support/settings.ts';

const ROOT = join(import.meta.dirname, '../../..');

it.each(Object.entries(generateDocs()))('%s is what `npm run docs` makes of the code', (path, text) => {
  expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
});

it('knows every event, also one that is formatted over several lines', () => {
  const source = globSync('src/report/events/*.ts', { cwd: ROOT })
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');
  const names = [...source.matchAll(/\{\s*type: '([^']+)'/g)].map(([, name]) => name);
  expect(parseUnions(source).map(({ type }) => type)).toEqual(names);
  const long =
    "export type DevloopEvent =\n  /** About\n   * a. */\n  | {\n      type: 'a';\n      b: 'x' | null;\n    }\n  | { type: 'c' };\n";
  expect(parseUnions(long)).toEqual([
    { type: 'a', about: 'About a.', fields: [{ name: 'b', type: "'x' | null", about: '' }] },
    { type: 'c', about: '', fields: [] },
  ]);
});

it('explains every type that a field of an event has, and keeps objects within objects whole', () => {
  const source = [
    "export type DevloopEvent =\n  | ({ type: 'f' } & Z)\n  | { type: 'a'; b: { c: X; d: number }; e?: Y[] };",
    '/** Of b: c. */',
    "export type X = 'x' | 'y';",
    'export interface Y {\n  /** total: all; left: the rest. */\n  ms: { total: number; left: W };\n}',
    'export interface Z {\n  g: string;\n}',
    "export type W = 'w';",
    "export type Unused = 'v';",
    '',
  ].join('\n');
  const events = parseUnions(source);
  expect(events.map(({ fields }) => fields.map(({ name, type }) => `${name}: ${type}`))).toEqual([
    ['g: string'],
    ['b: { c: X; d: number }', 'e?: Y[]'],
  ]);
  const ms = { name: 'ms', type: '{ total: number; left: W }', about: 'total: all; left: the rest.' };
  expect(usedTypes(source, events)).toEqual([
    { name: 'X', about: 'Of b: c.', values: ['x', 'y'], fields: [] },
    { name: 'Y', about: '', values: [], fields: [ms] },
    { name: 'W', about: '', values: ['w'], fields: [] },
  ]);
});

it('describes every note and warning with its values, and each is used', () => {
  const notices = readNotices(join(ROOT, 'src/report/notices'));
  const levels = Object.fromEntries(notices.map(({ code, level }) => [code, level]));
  expect(levels).toEqual(
    Object.fromEntries(Object.entries(NOTICES).map(([code, { level }]) => [code, level])),
  );
  expect(notices.filter(({ about }) => about === '')).toEqual([]);
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  );
  const unused = notices.filter(({ code }) => !sources.some((text) => text.includes(`notice('${code}'`)));
  expect(unused).toEqual([]);
  const named = "  /** A\n   * b. */\n  'a.b': note<V>(() => ''),\n};\n\ninterface V {\n  c?: string;\n}\n";
  expect(parseNotices(named)).toEqual([
    { code: 'a.b', level: 'note', about: 'A b.', fields: [{ name: 'c?', type: 'string', about: '' }] },
  ]);
});

it('has no table without rows, and no type without an explanation, on the page of events', () => {
  const page = generateDocs()['docs/events.md']!;
  expect(page).not.toMatch(/^\| --- .*\n(?!\|)/m);
  const types = [...page.matchAll(/^\| `[^`]+` \| `([^`]+)` \|/gm)].flatMap(
    ([, type]) => type!.match(/\b[A-Z]\w+/g) ?? [],
  );
  expect(types.length).toBeGreaterThan(20);
  for (const type of types) expect(page).toContain(`\n### \`${type}\`\n`);
});

it('names the needed Go version in one sentence, the same everywhere', () => {
  const files = ['README.md', 'CONTRIBUTING.md', 'scripts/run.mjs', 'test/cluster/prerequisites.ts'];
  const named = files.map((file) =>
    readFileSync(join(ROOT, file), 'utf8').match(/[^.'`]*Go 1\.\d+[^'`\s]*[^'`]*?\/dl/g),
  );
  expect(named.map((all) => all?.map((text) => text.trim()))).toEqual(
    files.map(() => ['You need Go 1.26 or newer: https://go.dev/dl']),
  );
});

/** The code words in the first column of the table with this head. */
function firstColumn(file: string, head: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const table = text.split(`\n${head}\n`)[1]?.split('\n\n')[0] ?? '';
  const cells = table
    .split('\n')
    .slice(1)
    .map((row) => row.split(' | ')[0]!);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word!));
}

/** The texts of a type that is a union of them. */
function textsOf(file: string, type: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8').split(`export type ${type} =`)[1]!.split(';')[0]!;
  return [...text.matchAll(/'([^']+)'/g)].map(([, word]) => word!);
}

it('names each check, each verdict, each state of a session and each command in the tables that explain them', () => {
  const checks = allChecks({ settings: settingsOf() });
  const routes = (name: string): string => name.replace(/^route .*/, 'route …');
  expect(
    firstColumn('docs/guide.md', '| check | question |'),
    'the table of checks in docs/guide.md',
  ).toEqual([...new Set(checks.map(({ name }) => routes(name)))]);
  expect(firstColumn('docs/guide.md', '| verdict | meaning |')).toEqual(
    textsOf('src/report/review.ts', 'ReviewVerdict'),
  );
  // A session that is not ready has no line at the bottom.
  const states = textsOf('src/report/session-state.ts', 'SessionPhase').filter((one) => one !== 'starting');
  expect(firstColumn('docs/guide.md', '| state | meaning |').sort()).toEqual(
    expect.arrayContaining(states.sort()),
  );
});

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const words = (text: string): number => text.split(/\s+/).filter((word) => /\w/.test(word)).length;

it('has a README that is understood quickly: a command within 120 words, and few words in all', () => {
  expect(words(README.split('```sh')[0]!)).toBeLessThan(120);
  expect(words(README)).toBeLessThan(1_150);
});

it('has a README that names commands that exist, and every document', () => {
  const page = readFileSync(join(ROOT, 'docs/commands.md'), 'utf8');
  const commands = [...page.matchAll(/^## devloop (\w+)$/gm)].map(([, name]) => name);
  const fenced = README.match(/^```sh\n.*?^```$/gms)!.join('\n');
  const named = [...README.matchAll(/`devloop (\w+)/g), ...fenced.matchAll(/^devloop (\w+)/gm)];
  expect(named.length).toBeGreaterThan(5);
  expect(commands).toEqual(expect.arrayContaining(named.map(([, name]) => name)));
  const pages = globSync(['docs/*.md', '[A-Z]*.md'], { cwd: ROOT, exclude: ['README.md'] });
  expect(pages.filter((file) => !README.includes(`(${file})`))).toEqual([]);
});

it('has YAML in the guide that devloop reads', () => {
  const blocks = readFileSync(join(ROOT, 'docs/guide.md'), 'utf8').match(/^```yaml\n.*?^```$/gms) ?? [];
  const ours = blocks.filter((block) => /^(?:controller|context):/m.test(block));
  expect(ours.length).toBeGreaterThan(2);
  for (const block of ours)
    expect(parseConfig(block.replace(/^```.*$/gm, ''))).not.toHaveProperty('problems');
});

it('names files that are there', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: ROOT })];
  const named = pages.flatMap((page) => [
    ...readFileSync(join(ROOT, page), 'utf8').matchAll(/`((?:src|test|scripts)\/[-\w./]+\.\w+)`/g),
  ]);
  expect(named.length).toBeGreaterThan(20);
  expect(named.map(([, file]) => file!).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

it('installs every document that an error names', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] };
  expect(files).toContain('docs/*.md');
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  );
  const named = sources.flatMap((text) =>
    [...text.matchAll(/documentPath\('([^']+)'\)/g)].map(([, name]) => name!),
  );
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) expect(existsSync(join(ROOT, 'docs', name)), name).toBe(true);
});
