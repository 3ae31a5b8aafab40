import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ManifestSources } from '../../../../src/session/generated/sources.ts';

const TYPES = 'package v1\n\n// +kubebuilder:object:root=true\ntype Shop struct {\n}\n';
const CALLS = {
  calls: [
    {
      words: [],
      outputs: new Map([
        ['crd', 'config/crd'],
        ['rbac', 'config/rbac'],
        ['webhook', 'config/webhook'],
      ] as const),
    },
  ],
};
const MINUTE = 60_000;

async function checkout(files: Record<string, { text: string; ago: number }>) {
  const root = await mkdtemp(join(tmpdir(), 'devloop-test-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const write = async (name: string, { text, ago }: { text: string; ago: number }) => {
    const file = join(root, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    const time = new Date(Date.now() - ago * MINUTE);
    await utimes(file, time, time);
  };
  for (const [name, file] of Object.entries(files)) await write(name, file);
  return { root, write };
}

test('manifests are missing if the code has markers for them, and old if they are older than their own sources', async () => {
  const { root, write } = await checkout({
    'api/v1/shop.go': { text: TYPES, ago: 9 },
    'api/v1/helper.go': { text: 'package v1\n', ago: 1 },
    'api/v1/zz_generated.deepcopy.go': { text: 'package v1\n', ago: 0 },
    'internal/shop.go': { text: '// +kubebuilder:rbac:groups=a,verbs=get\n', ago: 9 },
    'config/crd/shops.yaml': { text: 'a: 1', ago: 5 },
    'config/crd/kustomization.yaml': { text: 'a: 1', ago: 9 },
    'config/rbac/role.yaml': { text: 'a: 1', ago: 5 },
  });
  const sources = new ManifestSources(root);
  expect(await sources.age(CALLS)).toMatchObject({
    isMissing: false,
    old: [{ generator: 'crd', directory: 'config/crd' }],
  });
  await write('internal/hook.go', { text: '\t// +kubebuilder:webhook:path=/a\n', ago: 9 });
  expect(await sources.age(CALLS)).toMatchObject({ isMissing: true });
});

test('the code says something new to a generator with a marker or a type, and not with a function', async () => {
  const { root, write } = await checkout({
    'api/v1/shop.go': { text: TYPES, ago: 9 },
    'internal/shop.go': { text: '// +kubebuilder:rbac:groups=a,verbs=get\n', ago: 9 },
  });
  const sources = new ManifestSources(root);
  await sources.age(CALLS);
  const says = async (name: string, text: string, ago: number) => {
    await write(name, { text, ago });
    return await sources.haveChanged();
  };
  expect(await sources.haveChanged()).toBe(false);
  expect(await says('internal/shop.go', '// +kubebuilder:rbac:groups=a,verbs=get\nfunc a() {}\n', 8)).toBe(
    false,
  );
  expect(await says('internal/shop.go', '// +kubebuilder:rbac:groups=a,verbs=list\n', 7)).toBe(true);
  expect(await says('api/v1/more.go', 'package v1\n\ntype Price struct{}\n', 6)).toBe(true);
  expect(await sources.haveChanged()).toBe(false);
});
