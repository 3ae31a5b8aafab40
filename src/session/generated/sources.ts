import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Checkout } from '../../checkout/files.ts';
import type { Generator, ManifestGeneration } from '../../checkout/make/controller-gen.ts';

/** What tells that a package declares types of an API, or a file permissions or webhooks. */
const DECLARES: Record<Generator, RegExp> = {
  crd: /^[ \t]*\/\/[ \t]*\+(?:kubebuilder:object:root=true|groupName=)/m,
  rbac: /^[ \t]*\/\/[ \t]*\+kubebuilder:rbac:/m,
  webhook: /^[ \t]*\/\/[ \t]*\+kubebuilder:webhook:/m,
};
const MARKERS = /^[ \t]*\/\/[ \t]*\+\S.*$/gm;
/** The file that each generator writes; those of CRDs have the names of their resources. */
const WRITES: Partial<Record<Generator, string>> = { rbac: 'role.yaml', webhook: 'manifests.yaml' };
/** A clone writes all files within seconds, in any order. */
const SAME_TIME_MS = 2_000;
const GENERATED = /^zz_generated[\w.]*\.go$/;

/** How the manifests of a checkout stand to its sources, by the times of the files. */
export interface Age {
  /** A generator has something to write, and has not written it. */
  isMissing: boolean;
  /** The directories of manifests that are older than what they come from. */
  old: { generator: Generator; directory: string }[];
}

/** The Go sources of which manifests are made. */
export class ManifestSources {
  readonly #root: string;
  /** What a generator reads of each file, and when the file was read. */
  readonly #read = new Map<string, { input: string; at: number }>();

  constructor(root: string) {
    this.#root = root;
    this.haveChanged();
  }

  /** Whether the files now say something else to a generator than when they were read last. */
  haveChanged(): boolean {
    const checkout = new Checkout(this.#root);
    const files = goFiles(checkout);
    const types = new Set(declaring('crd', checkout, files).map((file) => dirname(file)));
    let isChanged = [...this.#read.keys()].some((file) => !files.includes(file) && this.#read.delete(file));
    for (const file of files) {
      const at = timeOf(file);
      const before = this.#read.get(file);
      if (before?.at === at) continue;
      const text = checkout.text(file);
      const input = types.has(dirname(file)) ? text : (text.match(MARKERS) ?? []).join('\n');
      this.#read.set(file, { input, at });
      isChanged ||= input !== (before?.input ?? '');
    }
    return isChanged;
  }

  age({ calls }: Pick<ManifestGeneration, 'calls'>): Age {
    const checkout = new Checkout(this.#root);
    const files = goFiles(checkout);
    const types = new Set(declaring('crd', checkout, files).map((file) => dirname(file)));
    const of: Record<Generator, string[]> = {
      crd: files.filter((file) => types.has(dirname(file))),
      rbac: declaring('rbac', checkout, files),
      webhook: declaring('webhook', checkout, files),
    };
    const found = calls.flatMap(({ outputs }) =>
      [...outputs].flatMap(([generator, directory]) => {
        const sources = of[generator];
        if (sources.length === 0) return [];
        const own = WRITES[generator];
        const isWritten = (name: string): boolean =>
          own === undefined ? /\.ya?ml$/.test(name) && !name.startsWith('kustomization.') : name === own;
        const below = join(this.#root, directory);
        const written = checkout
          .entries(below)
          .filter((entry) => entry.isFile() && isWritten(entry.name))
          .map(({ name }) => timeOf(join(below, name)));
        const isMissing = written.length === 0;
        const isOld = Math.max(...sources.map(timeOf)) > Math.min(...written) + SAME_TIME_MS;
        return [{ generator, directory, isMissing, isOld }];
      }),
    );
    return {
      isMissing: found.some(({ isMissing }) => isMissing),
      old: found.filter(({ isMissing, isOld }) => isOld && !isMissing),
    };
  }
}

function goFiles(checkout: Checkout): string[] {
  return checkout.files((name) => name.endsWith('.go') && !GENERATED.test(name));
}

function declaring(generator: Generator, checkout: Checkout, files: string[]): string[] {
  return files.filter((file) => DECLARES[generator].test(checkout.text(file)));
}

function timeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
