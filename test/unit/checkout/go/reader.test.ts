import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Expression, GoFile } from '../../../../src/checkout/go/reader/nodes.ts';
import { goReader } from '../../../../src/checkout/go/reader/parser.ts';

const reader = await goReader();
const FIXTURES = join(import.meta.dirname, '../../../fixtures');
/** Packages of Go's own library, which every toolchain has: generic code, servers, templates, odd literals. */
const LIBRARY = ['flag', 'go/parser', 'maps', 'net/http', 'slices', 'strconv', 'sync', 'text/template'];

interface Read {
  package: string;
  imports: string[];
  strings: string[];
  calls: string[];
  literals: number;
}

/** The same facts as the program in the fixtures prints. */
function factsOf(file: GoFile): Read {
  return {
    package: file.package,
    imports: file.imports.map(({ path }) => path),
    strings: file.strings.map(valid).sort(),
    calls: file.calls.map(({ callee, values }) => `${nameOf(callee)}/${values.length}`).sort(),
    literals: file.composites.length,
  };
}

function nameOf(callee: Expression): string {
  if (callee.kind === 'name') return callee.name;
  return callee.kind === 'selector' ? `${nameOf(callee.of)}.${callee.name}` : '?';
}

/** How many replacement characters stand for bytes that are not UTF-8 is up to each language. */
function valid(text: string): string {
  return text.replaceAll(/\ufffd+/g, '');
}

test("Go's own parser reads the same in the same files", { timeout: 120_000 }, () => {
  const cwd = join(FIXTURES, 'go-parser');
  const root = execFileSync('go', ['env', 'GOROOT'], { encoding: 'utf8' }).trim();
  const files = [
    ...globSync('go-sources/**/*.go', { cwd: FIXTURES }).map((file) => join(FIXTURES, file)),
    ...LIBRARY.flatMap((one) => globSync(`src/${one}/*.go`, { cwd: root }).map((file) => join(root, file))),
  ];
  const input = files.map((file) => `${file}\n`).join('');
  const printed = execFileSync('go', ['run', '.'], { cwd, input, encoding: 'utf8', maxBuffer: 100_000_000 });
  const expected = printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Read | null);
  const compared = files.flatMap((file, index) => {
    const read = expected[index];
    const text = readFileSync(file, 'utf8');
    if (!read || text.includes('// Code generated ')) return [];
    const [strings, calls] = [read.strings.map(valid).sort(), read.calls.sort()];
    return [{ file, expected: { ...read, strings, calls }, ours: factsOf(reader.file(text)) }];
  });
  expect(compared.length).toBeGreaterThan(150);
  const different = compared.filter(({ ours, expected: theirs }) => !isDeepStrictEqual(ours, theirs));
  expect(different).toEqual([]);
});

describe('a file that is written to take long', () => {
  const LENGTH = 500_000;
  const MOST_SECONDS = 5;

  test.each<[string, string]>([
    ['parentheses', '('.repeat(LENGTH)],
    ['braces', '{'.repeat(LENGTH)],
    ['types', '['.repeat(LENGTH)],
    ['pointers', `var x ${'*'.repeat(LENGTH)}`],
    ['signs', `var x = ${'-'.repeat(LENGTH)}1`],
    ['functions', 'func(){'.repeat(LENGTH / 7)],
    ['literal structs', `var x = ${'T{'.repeat(LENGTH / 2)}`],
    ['blocks', 'if x {'.repeat(LENGTH / 6)],
    ['comments without an end', '/*'.repeat(LENGTH / 2)],
    ['comments', '/**/'.repeat(LENGTH / 4)],
    ['quotes', '"'.repeat(LENGTH)],
    ['sums', `var x = ${'a+'.repeat(LENGTH / 2)}a`],
    ['fields', `type T ${'struct{'.repeat(LENGTH / 7)}`],
    ['selectors', 'a.'.repeat(LENGTH / 2)],
    ['nothing of Go', 'é€\u0000\\#'.repeat(LENGTH / 5)],
  ])('is read in little time: %s', { timeout: 60_000 }, (_, text) => {
    const start = process.cpuUsage();
    expect(['x', '']).toContain(reader.file(`package x\n${text}`).package);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(MOST_SECONDS);
  });

  test('is not read if it is larger than what people write', () => {
    expect(reader.file(`package x\n${' '.repeat(10_000_000)}`).package).toBe('');
  });
});

test('the head of a file ends with its imports', () => {
  const text = `// Copyright
//go:build linux && !arm64

/* About it. */
package shop // import "example.com/shop"

import "fmt"
import (
	_ "embed"
	. \`strings\`; yaml "gopkg.in/yaml.v3"
)

const text = "import \\"no/import\\""
`;
  const { package: name, constraint, imports } = reader.header(text);
  expect({ name, constraint }).toEqual({ name: 'shop', constraint: 'linux && !arm64' });
  expect(imports).toEqual([
    { path: 'fmt', alias: undefined },
    { path: 'embed', alias: '_' },
    { path: 'strings', alias: '.' },
    { path: 'gopkg.in/yaml.v3', alias: 'yaml' },
  ]);
});

test('a line of a comment does not end the head of a file', () => {
  const text = '/*\ntype of licence\n*/\npackage shop\n\nimport "fmt"\n\nfunc main() {}\n';
  expect(reader.header(text)).toMatchObject({ package: 'shop', imports: [{ path: 'fmt' }] });
});

test('only the head of a generated file is read', () => {
  const rest = 'package shop\n\nimport "fmt"\n\nvar text = fmt.Sprint("text")\n';
  const generated = reader.file(`// Code generated by a tool. DO NOT EDIT.\n\n${rest}`);
  expect(generated).toMatchObject({ package: 'shop', imports: [{ path: 'fmt' }], strings: [], calls: [] });
  expect(reader.file(`${rest}\n// Code generated by a tool. DO NOT EDIT.\n`).strings).toEqual(['text']);
});

test('a file that takes too long changes nothing about the next one', { timeout: 60_000 }, () => {
  reader.file(`package x\n${'"'.repeat(500_000)}`);
  expect(reader.file('package shop\n\nvar text = "text"\n')).toMatchObject({
    package: 'shop',
    strings: ['text'],
  });
});
