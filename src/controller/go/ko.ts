import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { isScalar, parseAllDocuments, visit } from 'yaml';
import { readTextFile } from '../../machine/text-file.ts';
import type { GoModule } from './checkout.ts';

/** Where projects keep the manifests that they apply with `ko apply -f`. */
const MANIFESTS = '{config,deploy,manifests,kubernetes}/**/*.{yaml,yml}';
const IMAGE = 'ko://';
const KINDS = new Set<unknown>(['Deployment', 'StatefulSet', 'DaemonSet']);

/** The Go packages that ko builds for a Deployment, StatefulSet or DaemonSet: its manifest in the checkout has `image: ko://<module>/cmd/webhook`. */
export async function koPackages({ directory, path }: GoModule, workload: string): Promise<string[]> {
  const images: string[] = [];
  for await (const file of glob(MANIFESTS, { cwd: directory })) {
    const text = await readTextFile(join(directory, file));
    if (text.includes(IMAGE)) images.push(...imagesOf(text, workload));
  }
  const own = images.filter((image) => image.startsWith(`${IMAGE}${path}/`));
  return [...new Set(own.map((image) => `./${image.slice(IMAGE.length + path.length + 1)}`))];
}

function imagesOf(text: string, workload: string): string[] {
  const images: string[] = [];
  for (const document of parseAllDocuments(text)) {
    if (!('contents' in document) || !KINDS.has(document.get('kind'))) continue;
    if (document.getIn(['metadata', 'name']) !== workload) continue;
    visit(document, {
      Pair(_, { key, value }) {
        const isImage = isScalar(key) && key.value === 'image' && isScalar(value);
        if (isImage && String(value.value).startsWith(IMAGE)) images.push(String(value.value));
      },
    });
  }
  return images;
}
