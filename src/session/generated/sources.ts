import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
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
/** A running session answers reviews between these. */
const AT_ONCE = 50;

/** How the manifests of a checkout stand to its sources, by the times of the files. */
export interface Age {
  /** A generator has something to write, and has not written it. */
  isMissing: boolean;
  /** The directories of manifests that are older than what they come from. */
  old: { generator: Generator; directory: string }[];
}

interface Source {
  modifiedMs: number;
  declares: Generator[];
  hash: string;
  markers: string;
}

/** The Go sources of which manifests are made. */
export class ManifestSources {
  readonly #root: string;
  #sources = new Map<string, Source>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Reads what has changed. Returns whether the code now says something else to a generator than when it was read last. */
  async haveChanged(): Promise<boolean> {
    const before = saidBy(this.#sources);
    await this.#read();
    return saidBy(this.#sources) !== before;
  }

  /** What has to be generated, judging by the times of the files. */
  async age({ calls }: Pick<ManifestGeneration, 'calls'>): Promise<Age> {
    await this.#read();
    const checkout = new Checkout(this.#root);
    const types = typesIn(this.#sources);
    const newest = (generator: Generator): number =>
      Math.max(
        ...[...this.#sources].flatMap(([file, { declares, modifiedMs }]) =>
          declares.includes(generator) || (generator === 'crd' && types.has(dirname(file)))
            ? [modifiedMs]
            : [],
        ),
      );
    const found = calls.flatMap(({ outputs }) =>
      [...outputs].map(([generator, directory]) => {
        const times = writtenBy(generator, join(this.#root, directory), checkout);
        const isDeclared = newest(generator) > Number.NEGATIVE_INFINITY;
        const isOld = newest(generator) > Math.min(...times) + SAME_TIME_MS;
        return { generator, directory, isMissing: isDeclared && times.length === 0, isOld };
      }),
    );
    return {
      isMissing: found.some(({ isMissing }) => isMissing),
      old: found.filter(({ isOld }) => isOld).map(({ generator, directory }) => ({ generator, directory })),
    };
  }

  async #read(): Promise<void> {
    const checkout = new Checkout(this.#root);
    const files = checkout.files((name) => name.endsWith('.go') && !GENERATED.test(name));
    const now = new Map<string, Source>();
    for (const [index, file] of files.entries()) {
      if (index % AT_ONCE === 0) await setImmediate();
      const modifiedMs = timeOf(file);
      const before = this.#sources.get(file);
      const isSame = before?.modifiedMs === modifiedMs;
      now.set(file, isSame ? before : { modifiedMs, ...sourceIn(checkout.text(file)) });
    }
    this.#sources = now;
  }
}

function sourceIn(text: string): Omit<Source, 'modifiedMs'> {
  const generators = Object.keys(DECLARES) as Generator[];
  return {
    declares: generators.filter((generator) => DECLARES[generator].test(text)),
    hash: createHash('sha1').update(text).digest('base64'),
    markers: (text.match(MARKERS) ?? []).join('\n'),
  };
}

function typesIn(sources: ReadonlyMap<string, Source>): Set<string> {
  return new Set(
    [...sources].flatMap(([file, { declares }]) => (declares.includes('crd') ? [dirname(file)] : [])),
  );
}

/** What generators read: of the packages with types everything, and markers of the others. */
function saidBy(sources: ReadonlyMap<string, Source>): string {
  const types = typesIn(sources);
  return [...sources]
    .map(([file, { hash, markers }]) => (types.has(dirname(file)) ? `${file} ${hash}` : markers))
    .filter((said) => said !== '')
    .join('\n');
}

/** The times of the files that the generator has written. */
function writtenBy(generator: Generator, directory: string, checkout: Checkout): number[] {
  const own = WRITES[generator];
  const isWritten = (name: string): boolean =>
    own === undefined ? /\.ya?ml$/.test(name) && !name.startsWith('kustomization.') : name === own;
  return checkout
    .entries(directory)
    .filter((entry) => entry.isFile() && isWritten(entry.name))
    .map(({ name }) => timeOf(join(directory, name)));
}

function timeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
