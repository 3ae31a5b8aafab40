import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { withoutComments } from '../../support/without-comments.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PROGRAMS = ['main.ts', 'route/relay/pod/program.ts'];
/** The files where a program or the page begins. */
const ENTRIES = [...PROGRAMS, 'page/client/main.tsx'];
const LONGEST = 300;
const LARGEST_BYTES = 1_000_000;

/** What each room may import, besides itself and the ground that all stand on. A room is a folder, or a file directly in src. */
const ROOMS = {
  calls: 'api-proxy cluster/api cluster/marks config machine reviews',
  'api-proxy': 'certificates cluster/api faults machine',
  faults: '',
  certificates: 'machine',
  checkout: 'machine',
  'checkout/go': 'checkout checkout/go/reader checkout/image checkout/make machine',
  'checkout/go/reader': 'machine',
  'checkout/image': 'checkout checkout/make',
  'checkout/make': 'machine',
  'checkout/node': 'checkout checkout/image machine',
  'checkout/python': 'checkout checkout/image machine',
  'checkout/rust': 'checkout checkout/image machine',
  cli: 'config machine mcp session session/context session/faults',
  cluster: 'cluster/api',
  'cluster/api': 'machine',
  'cluster/marks': 'cluster cluster/api',
  'cluster/relay': 'cluster cluster/api cluster/marks',
  'cluster/takeover': 'cluster cluster/api cluster/marks cluster/takeover/pause machine',
  'cluster/takeover/pause': 'cluster cluster/api cluster/marks',
  config: 'faults',
  controller: 'checkout controller/watch machine',
  'controller/watch': 'checkout machine',
  debugger: 'machine',
  gateway: 'machine',
  languages: 'checkout checkout/go checkout/node checkout/python checkout/rust',
  local: [
    'api-proxy certificates checkout checkout/image cluster cluster/api config controller controller/watch languages',
    'machine operator',
  ].join(' '),
  machine: '',
  main: 'cli machine report',
  mcp: 'calls config report session session/context',
  operator: 'checkout cluster cluster/api cluster/marks languages machine',
  'operator/manifests': 'checkout cluster/api cluster/marks cluster/takeover operator',
  'operator/rbac': 'cluster/api operator/manifests',
  page: 'calls machine report reviews',
  'page/client': 'page report',
  report: '',
  reviews: 'checkout config gateway machine operator',
  route: 'machine',
  'route/relay': 'route route/relay/wire',
  'route/relay/pod': 'route/relay/wire',
  'route/relay/wire': '',
  'route/ssh': 'machine route',
  session: [
    'api-proxy calls checkout cluster cluster/api cluster/takeover cluster/takeover/pause config controller',
    'controller/watch gateway languages local machine operator operator/manifests operator/rbac page reviews',
    'session/calls session/context session/control session/crashing session/doctor session/embedded session/end session/faults session/generated session/guard',
    'session/init session/planning session/reviews session/route session/start session/verify',
  ].join(' '),
  'session/calls': 'api-proxy calls cluster/api config reviews',
  'session/context': [
    'checkout cluster cluster/api cluster/marks cluster/takeover config controller languages',
    'local machine operator page reviews',
  ].join(' '),
  'session/control':
    'cluster/api config controller machine reviews session/context session/faults session/route',
  'session/crashing': 'api-proxy calls cluster/api config controller faults machine reviews session/faults',
  'session/doctor': [
    'checkout cluster cluster/api cluster/marks cluster/takeover cluster/takeover/pause',
    'config debugger languages local machine operator operator/manifests session/context',
    'session/route session/start',
  ].join(' '),
  'session/embedded': [
    'certificates checkout checkout/make cluster/api cluster/takeover controller controller/watch machine',
    'session/context session/generated',
  ].join(' '),
  'session/end': [
    'checkout cluster cluster/api cluster/marks cluster/relay cluster/takeover',
    'cluster/takeover/pause controller local machine operator route session/context',
    'session/route',
  ].join(' '),
  'session/faults': 'faults gateway session/context',
  'session/generated': 'checkout checkout/make machine operator/manifests session/context',
  'session/guard': 'cluster cluster/api cluster/marks cluster/takeover operator',
  'session/init': 'config machine session/context',
  'session/planning': [
    'api-proxy calls checkout cluster/api cluster/takeover/pause controller local machine operator reviews',
    'session/calls session/context session/control session/start',
  ].join(' '),
  'session/reviews': [
    'calls checkout cluster/api config controller languages operator reviews session/context',
    'session/control session/start session/verify',
  ].join(' '),
  'session/route': [
    'certificates cluster cluster/api cluster/relay cluster/takeover config controller',
    'gateway local machine operator route route/relay route/relay/wire route/ssh',
    'session/context',
  ].join(' '),
  'session/start': [
    'api-proxy checkout cluster cluster/api cluster/marks cluster/takeover cluster/takeover/pause',
    'config controller debugger languages local machine operator operator/manifests route session/context',
    'session/calls session/end session/faults session/generated session/guard session/route',
  ].join(' '),
  'session/verify': [
    'api-proxy certificates checkout cluster/api config controller gateway languages local machine',
    'operator session/context session/embedded session/start',
  ].join(' '),
};
const ALLOWED: Record<string, string[]> = Object.fromEntries(
  Object.entries(ROOMS).map(([room, targets]) => [room, targets.split(' ').filter(Boolean)]),
);

/** What needs nothing else of ours: errors, the vocabulary of events, and the few functions about promises and about similar names. */
const GROUND = [
  ...['error-codes', 'errors', 'phrases', 'async', 'backlog', 'similar'],
  ...[
    'report/actions',
    'report/call',
    'report/change',
    'report/events',
    'report/fault',
    'report/object-name',
    'report/planned-write',
    'report/rbac',
    'report/manifest',
    'report/notices',
    'report/review',
    'report/crash-round',
    'report/session-state',
    'report/session-status',
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

it('allows no import that no file needs', () => {
  const used = new Set(
    sources.flatMap(({ path, room, text }) =>
      importsOf(path, text).map((target) => `${room} -> ${roomOf(target)}`),
    ),
  );
  const allowed = Object.entries(ALLOWED).flatMap(([room, targets]) =>
    targets.map((target) => `${room} -> ${target}`),
  );
  expect(allowed.filter((edge) => !used.has(edge))).toEqual([]);
});

it('has no two rooms that need each other, directly or through others', () => {
  expect(circle(new Map(Object.entries(ALLOWED)))).toBeUndefined();
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

it('leaves what differs between operating systems to machine/, so that only that folder has to be right on macOS', () => {
  const wrong = sources.filter(({ path, text }) => roomOf(path) !== 'machine' && asksSystem(text));
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
  for (const question of [
    "process.platform === 'x'",
    "import { arch, platform } from 'node:process';",
    "import {\n  type } from 'node:os';",
    "OS === 'darwin'",
    "'/proc/self/stat'",
  ]) {
    expect(asksSystem(question), question).toBe(true);
    expect(asksSystem(`// not ${question.replaceAll('\n', ' ')}`)).toBe(false);
  }
});

function importGraph(files: { path: string; text: string }[]): Map<string, string[]> {
  return new Map(files.map(({ path, text }) => [path, importsOf(path, text)]));
}

/** Files or rooms that form a circle: each imports the next one, and the last one imports the first. */
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
    return /^(?:phrases|errors|error-codes)$|^report\//.test(target) && GROUND.includes(target);
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

/** Go's names of systems in a list of them, as for `a_linux.go`, are no question. */
function asksSystem(text: string): boolean {
  return /\bprocess\.(?:platform|arch)\b|\b(?:platform|arch|type|release)\b[^;]*\bfrom 'node:(?:process|os)'|['"`](?:linux|darwin|win32)['"`]|['"`]\/(?:proc|sys)\//.test(
    withoutComments(text),
  );
}
