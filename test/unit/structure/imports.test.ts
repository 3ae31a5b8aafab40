import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const LONGEST = 300;

const MIDDLE = ['cluster', 'route', 'gateway', 'controller', 'certificates'];
const EVERYWHERE = ['errors', 'report/events'];

/** What each part may import, besides itself. `report` stands for its printers; events.ts is apart. */
const ALLOWED: Record<string, string[]> = {
  main: ['cli', 'report', ...EVERYWHERE],
  cli: ['session', 'config', ...EVERYWHERE],
  session: [...MIDDLE, 'config', ...EVERYWHERE],
  ...Object.fromEntries(MIDDLE.map((part) => [part, EVERYWHERE])),
  config: ['errors'],
  report: ['report/events'],
  'report/events': [],
  errors: [],
};

const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((file) => {
  const path = file.replaceAll('\\', '/').slice('src/'.length);
  return { path, part: partOf(path), text: readFileSync(join(ROOT, file), 'utf8') };
});

it('finds the sources', () => {
  expect(sources.map(({ path }) => path)).toContain('main.ts');
});

it('lets each part import only what lies below it', () => {
  const wrong = sources.flatMap(({ path, part, text }) =>
    importsOf(path, text)
      .filter((target) => !mayImport(part, partOf(target)))
      .map((target) => `${path} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

it('leaves the process to the two programs, main.ts and the one that runs in the relay Pod', () => {
  const programs = ['main.ts', 'route/relay/program.ts'];
  const wrong = sources.filter(({ path, text }) => !programs.includes(path) && touchesProcess(text));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

it(`keeps files at ${LONGEST} lines or fewer`, () => {
  const long = sources.filter(({ text }) => text.trimEnd().split('\n').length > LONGEST);
  expect(long.map(({ path }) => path)).toEqual([]);
});

it('sees the imports and calls that it forbids', () => {
  const text = `import type { A } from '../session/up.ts';\nimport '../gateway/hold.ts';\nexport { b } from './b.ts';\nawait import('../route/direct.ts');`;
  expect(importsOf('cluster/a.ts', text)).toEqual([
    'session/up.ts',
    'gateway/hold.ts',
    'cluster/b.ts',
    'route/direct.ts',
  ]);
  expect(mayImport('cluster', 'session')).toBe(false);
  expect(mayImport('cluster', 'gateway')).toBe(false);
  expect(mayImport('config', 'session')).toBe(false);
  for (const call of ['process.exit(1)', "process.once('SIGINT', f)", 'console.log(1)']) {
    expect(touchesProcess(call)).toBe(true);
    expect(touchesProcess(`// not ${call}`)).toBe(false);
  }
});

function partOf(path: string): string {
  const name = path.replace(/\.ts$/, '');
  return name === 'report/events' || !name.includes('/') ? name : name.slice(0, name.indexOf('/'));
}

function mayImport(part: string, target: string): boolean {
  return part === target || (ALLOWED[part]?.includes(target) ?? false);
}

/** Static, dynamic and type-only imports of our own files, as paths below src. */
function importsOf(path: string, text: string): string[] {
  const found = withoutComments(text).matchAll(/\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g);
  return [...found].map(([, target]) => normalize(join(dirname(path), target!)).replaceAll('\\', '/'));
}

function touchesProcess(text: string): boolean {
  return /\bprocess\.(?:exit|exitCode|abort|on|once|addListener)\b|\bconsole\.\w+\(/.test(
    withoutComments(text),
  );
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/.*$/gm, '');
}
