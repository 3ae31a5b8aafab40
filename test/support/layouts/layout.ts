import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Container, Volume } from '../../../src/cluster/api/workloads.ts';

/** A way to lay out the repository of an operator. Each fixture repository has one operator with one webhook, made for these tests. */
export interface Layout {
  /** Also the name of the operator, of its namespace, and of the label on the objects that its webhook reviews. */
  name: string;
  /** The texts of the files below `example.com/acme/<name>`, by path. */
  files: Record<string, string>;
  /** Where the user runs devloop, relative to the repository. */
  startIn: string;
  /** Where the manager's program is: the directory of its Go module, and the package in it; in another language, '.' and its file. */
  main: { module: string; package: string };
  /** Installs what the program needs, as the user would have done. */
  install?(repository: string): Promise<void>;
  webhook: { path: string; port: number };
  /** The operator writes the annotation `size` of each ServiceAccount with the label `shop` to its annotation `noted`. */
  notes?: true;
  /** Other containers of the Pod come first. */
  sidecars?: Container[];
  container: Container;
  volumes?: Volume[];
}

/** The file with the message of the webhook. */
export const ANSWER = 'answer.go';
export const FIRST_ANSWER = 'the laptop says no';

/** The path of the file with the message, which a test edits. */
export function answerPath({ files }: Layout): string {
  return Object.keys(files).find((path) => files[path]!.includes(FIRST_ANSWER))!;
}

const RUNTIME = join(import.meta.dirname, '../../fixtures/layouts/controller-runtime.go.txt');

/** Writes `<directory>/<name>`, and beside it the stand-in for controller-runtime. Returns the directory in which the user runs devloop. */
export async function makeRepository(layout: Layout, directory: string): Promise<string> {
  const repository = join(directory, layout.name);
  const runtime = join(directory, 'controller-runtime');
  const all: Record<string, string> = {
    [join(runtime, 'go.mod')]: goMod('sigs.k8s.io/controller-runtime'),
    [join(runtime, 'runtime.go')]: await readFile(RUNTIME, 'utf8'),
    [join(repository, '.git/HEAD')]: 'ref: refs/heads/main\n',
  };
  for (const [path, text] of Object.entries(layout.files))
    all[join(repository, path)] = text.replaceAll('RUNTIME_DIRECTORY', runtime);
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  await layout.install?.(repository);
  return join(repository, layout.startIn);
}

export function goMod(path: string, ...lines: string[]): string {
  return `module ${path}\n\ngo 1.24\n${lines.map((line) => `\n${line}\n`).join('')}`;
}

/** Lines of a go.mod. A module that is replaced by a directory needs no go.sum. */
export const WITH_RUNTIME = [
  'require sigs.k8s.io/controller-runtime v0.0.0',
  'replace sigs.k8s.io/controller-runtime => RUNTIME_DIRECTORY',
];

/** The message of the webhook, in a package of its own or in the one that is named. */
export function answerFile(goPackage: string): string {
  return `package ${goPackage}\n\n// Answer is what the webhook says.\nconst Answer = "${FIRST_ANSWER}"\n`;
}

/** The package of an API group, as controller-gen expects it. */
export function groupFile(group: string): string {
  return `// +kubebuilder:object:generate=true\n// +groupName=${group}\npackage v1\n\nconst Group = "${group}"\n`;
}
