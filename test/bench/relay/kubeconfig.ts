import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The same kubeconfig, for a proxy on a port of this machine. The API server's certificate names both addresses. */
export async function kubeconfigFor(
  port: number,
  kubeconfig: string,
): Promise<{ file: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'devloop-relay-bench-'));
  const file = join(dir, 'kubeconfig');
  const text = await readFile(kubeconfig, 'utf8');
  const moved = text.replace(/https:\/\/[^"\s]+/, `https://127.0.0.1:${port}`);
  await writeFile(file, moved, { mode: 0o600 });
  return { file, [Symbol.asyncDispose]: () => rm(dir, { recursive: true }) };
}
