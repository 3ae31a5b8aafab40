import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureClusterBinaries } from '../cluster/build.ts';

/** Puts the etcd and kube-apiserver of the tests where `make setup-envtest` of the checkout would. */
export async function installAssets(checkout: string): Promise<string> {
  const { cluster } = await ensureClusterBinaries({ log: (line) => console.error(line) });
  const assets = join(checkout, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver'])
    await writeFile(join(assets, name), `#!/bin/sh\nexec ${cluster} ${name} "$@"\n`, { mode: 0o755 });
  return assets;
}
