import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const PROGRAMS = ['main.ts', 'route/relay/pod/program.ts'];
/** The files where a program or the page begins. */
const ENTRIES = [...PROGRAMS, 'page/client/main.tsx'];
const LONGEST = 300;
const LARGEST_BYTES = 1_000_000;

const CLUSTER = ['cluster', 'cluster/api', 'cluster/marks'];
const MIDDLE = [
  ...CLUSTER,
  ...['cluster/takeover', 'cluster/takeover/pause', 'cluster/relay'],
  ...['checkout', 'operator', 'operator/manifests', 'local', 'certificates', 'config', 'machine'],
  ...['controller', 'controller/go', 'controller/watch', 'debugger'],
  ...['gateway', 'reviews', 'page', 'route', 'route/ssh', 'route/relay', 'route/relay/wire'],
];

/** What each room may import, besides itself and the ground that all stand on. A room is a folder, or a file directly in src. */
const ALLOWED: Record<string, string[]> = {
  main: ['cli', 'report', 'machine'],
  cli: ['session', 'session/context', 'config'],
  session: [
    ...[
      'session/start',
      'session/end',
      'session/doctor',
      'session/route',
      'session/guard',
      'session/control',
      'session/context',
      'session/reviews',
      'session/verify',
    ],
    ...MIDDLE,
  ],
  'session/reviews': ['session/start', 'session/verify', 'session/control', 'session/context', ...MIDDLE],
  'session/verify': ['session/start', 'session/context', ...MIDDLE],
  'session/start': ['session/end', 'session/route', 'session/guard', 'session/context', ...MIDDLE],
  'session/control': ['session/route', 'session/context', ...MIDDLE],
  'session/guard': ['session/context', ...MIDDLE],
  'session/doctor': ['session/start', 'session/route', 'session/context', ...MIDDLE],
  'session/end': ['session/route', 'session/context', ...MIDDLE],
  'session/route': ['session/context', ...MIDDLE],
  'session/context': MIDDLE,
  local: [
    ...CLUSTER,
    ...['operator', 'controller', 'controller/go', 'controller/watch', 'certificates', 'config', 'machine'],
    'checkout',
  ],
  'operator/manifests': [...CLUSTER, 'cluster/takeover', 'operator'],
  operator: [...CLUSTER, 'controller/go', 'machine'],
  'cluster/relay': CLUSTER,
  'cluster/takeover': [...CLUSTER, 'cluster/takeover/pause'],
  'cluster/takeover/pause': CLUSTER,
  'cluster/marks': ['cluster', 'cluster/api'],
  cluster: ['cluster/api'],
  'cluster/api': ['machine'],
  controller: ['checkout', 'controller/go', 'controller/watch', 'machine'],
  'controller/watch': ['controller/go', 'machine'],
  'controller/go': ['machine'],
  debugger: ['machine'],
  gateway: ['machine'],
  reviews: ['gateway', 'operator', 'config'],
  page: ['machine', 'reviews', 'report'],
  'page/client': ['page', 'report'],
  'route/ssh': ['route', 'machine'],
  'route/relay': ['route', 'route/relay/wire'],
  'route/relay/pod': ['route/relay/wire'],
  'route/relay/wire': [],
  route: ['machine'],
  machine: [],
  checkout: ['machine'],
  certificates: ['machine'],
  config: [],
  report: [],
};

/** What needs nothing else of ours: errors, the vocabulary of events, and the few functions about promises and about similar names. */
const GROUND = [
  ...['errors', 'phrases', 'async', 'similar'],
  ...[
    'report/events',
    'report/object-name',
    'report/manifest',
    'report/notices',
    'report/review',
    'report/session-state',
  ],
];

const sources = globSync('src/**/*.{ts,tsx}', { cwd: ROOT }).map((file) => {
  const path = file.replaceAll('\\', '/').slice('src/'.length);
  return { path, room: roomOf(path), text: readFileSync(join(ROOT, file), 'utf8') };
});

it('finds the sources', () => {
  expect(sources.map(({ path }) => path)).toContain('main.ts');
});

it('lets each room import only what lies below it', () => {
  const wrong = sources.flatMap(({ path, room, text }) =>
    importsOf(path, text)
      .filter((target) => !mayImport(room, roomOf(target)))
      .map((target) => `${path} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

it('has no two files that need each other, directly or through others', () => {
  expect(circle(importGraph(sources))).toBeUndefined();
  const [a, b, c] = ['b', 'c', 'a'].map((target, index) => {
    return { path: `${'abc'[index]}.ts`, text: `import './${target}.ts';` };
  });
  expect(circle(importGraph([a!, b!, c!]))).toEqual(['a.ts', 'b.ts', 'c.ts']);
  expect(circle(importGraph([a!, b!]))).toBeUndefined();
});

it('has no file that no other file imports', () => {
  const imported = new Set([...importGraph(sources).values()].flat());
  const unused = sources.filter(
    ({ path }) => !imported.has(path) && !path.endsWith('.d.ts') && !ENTRIES.includes(path),
  );
  expect(unused.map(({ path }) => path)).toEqual([]);
});

it('leaves the process to the two programs, main.ts and the one that runs in the relay Pod', () => {
  const wrong = sources.filter(({ path, text }) => !PROGRAMS.includes(path) && touchesProcess(text));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

it(`keeps files at ${LONGEST} lines or fewer`, () => {
  const paths = globSync('src/**/*.{ts,tsx,css}', { cwd: ROOT });
  const isLong = (path: string): boolean =>
    readFileSync(join(ROOT, path), 'utf8').trimEnd().split('\n').length > LONGEST;
  expect(paths.filter(isLong)).toEqual([]);
});

it('keeps built programs out of the repository, which every clone would carry for ever', () => {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  const sizes = tracked.map((path) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.size ?? 0);
  expect(tracked.filter((_, index) => sizes[index]! > LARGEST_BYTES)).toEqual([]);
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

function importGraph(files: { path: string; text: string }[]): Map<string, string[]> {
  return new Map(files.map(({ path, text }) => [path, importsOf(path, text)]));
}

/** Files that form a circle: each imports the next one, and the last one imports the first. */
function circle(graph: Map<string, string[]>): string[] | undefined {
  const done = new Set<string>();
  const from = (path: string, before: string[]): string[] | undefined => {
    if (before.includes(path)) return before.slice(before.indexOf(path));
    if (done.has(path)) return undefined;
    for (const target of graph.get(path) ?? []) {
      const found = from(target, [...before, path]);
      if (found) return found;
    }
    done.add(path);
    return undefined;
  };
  for (const path of graph.keys()) {
    const found = from(path, []);
    if (found) return found;
  }
  return undefined;
}

function roomOf(path: string): string {
  const name = path.replace(/\.tsx?$/, '');
  return GROUND.includes(name) || !name.includes('/') ? name : dirname(name);
}

function mayImport(room: string, target: string): boolean {
  if (GROUND.includes(room))
    return (target === 'phrases' || target.startsWith('report/')) && GROUND.includes(target);
  return room === target || GROUND.includes(target) || (ALLOWED[room]?.includes(target) ?? false);
}

/** Our own files that a file imports, statically, dynamically or for types only, as paths below src. */
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
